"""How busy `ken ingest` keeps embedding servers: `python3 measure.py OUT.csv NAME=path/to/ken …`

A stand-in embeds each batch after a fixed latency and a time for each text, on one "device" that computes a batch at a time, as a
GPU server does; up to 32 texts are taken in a request, as by text-embeddings-inference. It counts the requests that it has, and how long
its device has none. Each program ingests the same passages, in turns; `--embedder-replicas` is used where the program knows it.
"""
import base64, csv, json, pathlib, socketserver, struct, subprocess, sys, tempfile, threading, time
from http.server import BaseHTTPRequestHandler

PASSAGES, DIMENSIONS, MOST = 12_000, 384, 32
LATENCY, BATCH, TEXT = 0.020, 0.004, 0.0004  # seconds: of the network, of a batch, of a text


class StandIn(socketserver.ThreadingTCPServer):
    daemon_threads, allow_reuse_address, request_queue_size = True, True, 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.device, self.lock = threading.Lock(), threading.Lock()
        self.clear()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def clear(self):
        self.now = self.most = self.requests = 0
        self.busy, self.first, self.last = 0.0, None, None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply(200, {"data": [{"id": "stand-in"}]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        texts, server = body["input"], self.server
        if len(texts) > MOST:
            return self.reply(413, {"error": {"message": f"batch size {len(texts)} > maximum allowed batch size {MOST}"}})
        with server.lock:
            server.now += 1
            server.most = max(server.most, server.now)
            server.requests += 1
            server.first = server.first or time.monotonic()
        time.sleep(LATENCY / 2)
        with server.device:
            work = BATCH + TEXT * len(texts)
            time.sleep(work)
            server.busy += work
            server.last = time.monotonic()
        time.sleep(LATENCY / 2)
        with server.lock:
            server.now -= 1
        self.reply(200, {"data": [{"index": i, "embedding": vector(t, body.get("encoding_format"))} for i, t in enumerate(texts)]})


def vector(text, form):
    seed = hash(text)
    numbers = [((seed >> (i % 48)) & 255) / 255 + 0.01 for i in range(DIMENSIONS)]
    if form != "base64":
        return numbers
    return base64.b64encode(struct.pack(f"<{DIMENSIONS}f", *numbers)).decode()


def run(ken, servers, folder):
    for server in servers:
        server.clear()
    corpus = folder / f"{time.monotonic_ns()}.ken"
    command = [ken, "ingest", "passages.jsonl", "--corpus", str(corpus), "--segment", "whole", "--embedder", servers[0].url, "--json"]
    if len(servers) > 1:
        command += ["--embedder-replicas", ",".join(server.url for server in servers[1:])]
    began = time.monotonic()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    took = time.monotonic() - began
    span = max(s.last for s in servers) - min(s.first for s in servers)
    return {
        "seconds": round(took, 2),
        "passages_per_s": round(PASSAGES / span),
        "device_busy": round(sum(s.busy for s in servers) / span / len(servers), 3),
        "most_in_flight": max(s.most for s in servers),
        "requests": sum(s.requests for s in servers),
    }


def main(out, programs):
    servers = [StandIn(), StandIn()]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        with open(folder / "passages.jsonl", "w") as file:
            for n in range(PASSAGES):
                file.write(json.dumps({"id": f"p{n}", "contents": f"Passage {n} says that vane number {n * 7 % 1009} turns in the wind."}) + "\n")
        for turn in range(3):
            for name, ken in programs:
                for count in (1, 2):
                    if count == 2 and b"embedder-replicas" not in subprocess.run([ken, "ingest", "--help"], capture_output=True).stdout:
                        continue
                    rows.append({"program": name, "endpoints": count, "turn": turn, **run(ken, servers[:count], folder)})
                    print(rows[-1], flush=True)
    with open(out, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(sys.argv[1], [argument.split("=", 1) for argument in sys.argv[2:]])
