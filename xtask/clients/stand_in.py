"""A model server for trials: it speaks OpenAI's chat completions as a model with tools does, and always says the same.

It calls the first tool that it is offered, answers from the tool's result once there is one, and writes JSON by the schema where it is asked
for some. `GET /seen` tells how many requests came since the last such question, and how many of them held the evidence.
"""
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Words of the corpus that no question has.
EVIDENCE = "moored at berth 14"

# What stands in questions that `ken` asks for itself: what the server can, and to make a question of a follow-up.
OWN = ("The sky is", "Rewritten:")

# Names by which clients offer a tool that takes the answer.
FINAL = ("final_result", "final_answer", "Answer")

BERTH = "Berth 14."
HIGH = "The tide is high."
CODE = 'Thought: The tool tells.\n<code>\nfinal_answer(tide(port="Orsand"))\n</code>'

seen = []


def reply_to(body):
    """The message of the model, and why it ends."""
    tools = body.get("tools") or []
    if tools and body.get("tool_choice") != "none":
        final = next((tool for tool in tools if tool["function"]["name"] in FINAL), None)
        if not has_result(body["messages"]):
            tool = next((tool for tool in tools if tool["function"]["name"] not in FINAL), final)
            return call(tool), "tool_calls"
        if final:
            return call(final), "tool_calls"
    if has_result(body["messages"]):
        return {"role": "assistant", "content": HIGH}, "stop"
    form = body.get("response_format") or {}
    if form.get("type") in ("json_schema", "json_object"):
        return {"role": "assistant", "content": json.dumps({"berth": 14})}, "stop"
    writes_code = "final_answer" in json.dumps(body["messages"][0])
    return {"role": "assistant", "content": CODE if writes_code else BERTH}, "stop"


def has_result(messages):
    """Whether a tool has answered: in a message of its own, or in words, as smolagents tells it."""
    last = messages[-1]
    return last["role"] == "tool" or "Observation:" in json.dumps(last.get("content"))


def call(tool):
    needs = tool["function"].get("parameters", {}).get("properties", {})
    arguments = {name: value_of(name, schema) for name, schema in needs.items()}
    function = {"name": tool["function"]["name"], "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}


def value_of(name, schema):
    if schema.get("type") == "integer":
        return 14
    return HIGH if name == "answer" else "Orsand"


def log_probabilities(message):
    words = [word + " " for word in (message["content"] or "").split()]
    return {"content": [{"token": word, "logprob": -0.1, "bytes": list(word.encode()), "top_logprobs": []} for word in words], "refusal": None}


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, data, kind="application/json", status=200):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path == "/seen":
            told, seen[:] = {"requests": len(seen), "with_evidence": sum(seen)}, []
            return self.send(json.dumps(told).encode())
        self.send(json.dumps({"object": "list", "data": [{"id": "stand-in", "object": "model", "max_model_len": 32768}]}).encode())

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not self.path.endswith("/chat/completions"):
            return self.send(b'{"error": {"message": "no such route"}}', status=404)
        if not any(words in json.dumps(body["messages"][-1]) for words in OWN):
            seen.append(EVIDENCE in json.dumps(body["messages"]))
        message, reason = reply_to(body)
        head = {"id": "x", "created": 1, "model": "stand-in"}
        usage = {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35}
        if body.get("stream"):
            events = [{**head, "object": "chat.completion.chunk", **part} for part in parts(message, reason)]
            if (body.get("stream_options") or {}).get("include_usage"):
                events.append({**head, "object": "chat.completion.chunk", "choices": [], "usage": usage})
            lines = [f"data: {json.dumps(event)}\n\n" for event in events] + ["data: [DONE]\n\n"]
            return self.send("".join(lines).encode(), "text/event-stream")
        choice = {"message": message, "finish_reason": reason, "logprobs": log_probabilities(message) if body.get("logprobs") else None}
        choices = [{**choice, "index": index} for index in range(body.get("n") or 1)]
        self.send(json.dumps({**head, "object": "chat.completion", "choices": choices, "usage": usage}).encode())


def parts(message, reason):
    """The message as chunks of a stream: a call's arguments come in two, a text word by word."""
    deltas = [{"role": "assistant", "content": ""}]
    for index, called in enumerate(message.get("tool_calls", [])):
        arguments = called["function"]["arguments"]
        half = len(arguments) // 2
        deltas.append({"tool_calls": [{**called, "index": index, "function": {**called["function"], "arguments": arguments[:half]}}]})
        deltas.append({"tool_calls": [{"index": index, "function": {"arguments": arguments[half:]}}]})
    deltas += [{"content": word} for word in (message.get("content") or "").replace(" ", " \0").split("\0") if word]
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    return chunks + [{"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}]


def start():
    """Starts it on a free port and returns its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"
