#!/usr/bin/env python3
"""Spans of `ken serve` in a collector that is not ours: Arize Phoenix, over OTLP/HTTP.

    cargo build -p ken --features otel
    python3 -m venv venv && venv/bin/pip install arize-phoenix opentelemetry-proto
    venv/bin/python collector.py KEN > collector.json

KEN is the program. Between both stands a proxy that decodes each request with the classes of PyPI's
opentelemetry-proto, generated from OpenTelemetry's own definitions, and passes it on as it came. Questions are asked
with and without retrieval, with a client's `traceparent`, and so that one fails; then Phoenix is asked, by its own API,
what it has. Exits with 1 where that is not what was meant.
"""
import http.server
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

PHOENIX = "http://127.0.0.1:6106"
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
NOTES = {
    "boat.md": "# The boat\nThe Marigold is moored at berth 14.\n",
    "house.md": "# The house\nInes Farrow sweeps the chimney every October.\n",
}
decoded, statuses = [], []


class Proxy(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        message = ExportTraceServiceRequest()
        message.ParseFromString(body)
        # Whatever the definitions do not know would be lost here.
        exact = message.SerializeToString() == body
        for one in message.resource_spans:
            resource = {item.key: item.value.string_value for item in one.resource.attributes}
            for scope in one.scope_spans:
                decoded.extend((resource, scope.scope.name, span, exact) for span in scope.spans)
        headers = {"content-type": self.headers["content-type"]}
        request = urllib.request.Request(PHOENIX + self.path, body, headers)
        with urllib.request.urlopen(request) as reply:
            statuses.append(reply.status)
            answer = reply.read()
            self.send_response(reply.status)
            self.send_header("content-type", reply.headers["content-type"] or "application/x-protobuf")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

    def log_message(self, *_):
        pass


def fetched(url, body=None, headers={}):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=120) as reply:
            return json.loads(reply.read() or b"null")
    except urllib.error.HTTPError as error:
        return json.loads(error.read())


def wait_for(what, happened, seconds=240):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if found := happened():
                return found
        except OSError:
            pass
        time.sleep(0.5)
    sys.exit(f"it never happened: {what}")


def is_up():
    with urllib.request.urlopen(PHOENIX + "/healthz", timeout=5) as reply:
        return reply.status == 200


def spans():
    return fetched(PHOENIX + "/v1/projects/default/spans?limit=1000")["data"]


def asked(server):
    def ask(policy, question, headers={}, **ken):
        body = {"model": f"ken/{policy}", "messages": [{"role": "user", "content": question}], "ken": ken}
        return fetched(server + "/v1/chat/completions", body, headers)

    berth = "At which berth is the Marigold moored?"
    return {
        "always, in a client's trace": ask("always", berth, {"traceparent": f"00-{TRACE}-{SPAN}-01"}),
        "never": ask("never", "What is the capital of France?"),
        "prompt": ask("prompt", "Who sweeps the chimney?"),
        "oracle, which cannot choose here": ask("oracle", berth),
    }


def checked(answers, found):
    """What has to be, by name."""
    named = {}
    for span in found:
        named.setdefault(span["name"], []).append(span)
    attributes = lambda span: span["attributes"]
    def question(name):
        return named[f"chat ken/{name}"][0]
    always, never, failed = question("always"), question("never"), question("oracle")
    children = lambda span: {
        one["name"] for one in found
        if one["parent_id"] == span["context"]["span_id"] and one["context"]["trace_id"] == span["context"]["trace_id"]
    }
    usage = answers["always, in a client's trace"]["usage"]
    retrieval = named["retrieval notes"][0]
    return {
        "a question in a client's trace is its span's child": (always["context"]["trace_id"], always["parent_id"]) == (TRACE, SPAN),
        "another question is a trace of its own": never["parent_id"] is None and never["context"]["trace_id"] != TRACE,
        "stages hang under their question": {"retrieval notes", "generate"} <= children(always),
        "without retrieval there is no span of it": "retrieval notes" not in children(never) and "generate" in children(never),
        "a policy that measures has a span": "route" in children(question("prompt")),
        "operation and provider": [attributes(always)[f"gen_ai.{key}"] for key in ("operation.name", "provider.name")] == ["chat", "ken"],
        "models": [attributes(always)[f"gen_ai.{key}.model"] for key in ("request", "response")] == ["ken/always", "ken/always"],
        "id of the response": attributes(always)["gen_ai.response.id"] == answers["always, in a client's trace"]["ken"]["request_id"],
        "tokens are whole numbers": [attributes(always)[f"gen_ai.usage.{key}_tokens"] for key in ("input", "output")]
        == [usage["prompt_tokens"], usage["completion_tokens"]],
        "finish reasons are a list": list(attributes(always)["gen_ai.response.finish_reasons"]) == ["stop"],
        "the route": [attributes(one)["ken.route"] for one in (always, never)] == ["corpus", "self"],
        "questions and answers, where these are sent": "berth" in attributes(always)["gen_ai.input.messages"]
        and answers["always, in a client's trace"]["choices"][0]["message"]["content"] in attributes(always)["gen_ai.output.messages"],
        "what is searched": (attributes(retrieval)["gen_ai.data_source.id"], attributes(retrieval)["gen_ai.retrieval.top_k"]) == ("notes", 5),
        "an error is one": (failed["status_code"], attributes(failed)["error.type"])
        == ("ERROR", answers["oracle, which cannot choose here"]["error"]["code"]),
        "no other is": all(one["status_code"] != "ERROR" for one in found if one["name"] != "chat ken/oracle"),
        "none ends before it begins": all(one["start_time"] <= one["end_time"] for one in found),
    }


def main(ken):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "notes").mkdir()
        for name, text in NOTES.items():
            (folder / "notes" / name).write_text(text)
        subprocess.run([ken, "ingest", "notes", "--corpus", "notes.ken"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        own = {"PHOENIX_PORT": "6106", "PHOENIX_GRPC_PORT": "6107", "PHOENIX_HOST": "127.0.0.1",
               "PHOENIX_WORKING_DIR": str(folder / "phoenix"), "PHOENIX_TELEMETRY_ENABLED": "false"}
        collector = subprocess.Popen(
            [pathlib.Path(sys.executable).with_name("phoenix"), "serve"],
            env=os.environ | own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        server = None
        try:
            wait_for("Phoenix", is_up)
            endpoint = f"http://127.0.0.1:{proxy.server_port}"
            server = subprocess.Popen(
                [ken, "serve", "--json", "--listen", "127.0.0.1:0", "--corpus", "notes.ken", "--k", "5",
                 "--otlp-endpoint", endpoint, "--otlp-content"],
                cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            )
            url = json.loads(server.stdout.readline())["url"].removesuffix("/v1")
            answers = asked(url)
            found = wait_for("all questions", lambda: (all_ := spans()) and sum(one["name"].startswith("chat") for one in all_) == 4 and all_, 60)
            checks = checked(answers, found)
        finally:
            for process in filter(None, [server, collector]):
                process.terminate()
                process.wait()
    checks["OpenTelemetry's definitions know all that was sent"] = all(exact for *_, exact in decoded)
    checks["each span that was sent is there"] = {span.span_id.hex() for _, _, span, _ in decoded} == {one["context"]["span_id"] for one in found}
    checks["the service has its name"] = {resource["service.name"] for resource, *_ in decoded} == {"ken"}
    versions = {name: importlib.metadata.version(name) for name in ("arize-phoenix", "opentelemetry-proto")}
    spans_ = [{key: one[key] for key in ("name", "parent_id", "status_code", "attributes")} for one in found]
    print(json.dumps({"versions": versions, "requests": len(statuses), "spans": spans_, "checks": checks}, indent=1))
    sys.exit(0 if all(checks.values()) else 1)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
