"""What the gateway adds to a request: the same chat completion asked of a model server directly and through `ken serve`.

    python3 overhead.py KEN CORPUS [REQUESTS] > overhead.csv

The model server is a stand-in that answers at once, so that nothing but the way is measured. Each round asks once directly and once through ken,
in turns, over connections that stay open. Prints the milliseconds of each request.
"""
import http.client
import json
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ken, corpus = sys.argv[1:3]
requests = int(sys.argv[3]) if len(sys.argv) > 3 else 500


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def reply(self, body, status=200):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        self.reply({"object": "list", "data": [{"id": "stand-in", "object": "model"}]})

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        if not self.path.endswith("/chat/completions"):
            return self.reply({"error": {"message": "no such route"}}, 404)
        message = {"role": "assistant", "content": "At berth 14."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35}
        self.reply({"id": "x", "object": "chat.completion", "model": "stand-in", "choices": [choice], "usage": usage})


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
upstream = server.server_address[1]
command = [ken, "serve", "--corpus", corpus, "--model", f"http://127.0.0.1:{upstream}/v1", "--listen", "127.0.0.1:8497"]
front = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    for _ in range(600):
        try:
            probe = http.client.HTTPConnection("127.0.0.1", 8497, timeout=1)
            probe.request("GET", "/ready")
            if probe.getresponse().status == 200:
                break
        except OSError:
            time.sleep(0.1)
    lines = {
        "direct": (http.client.HTTPConnection("127.0.0.1", upstream), "stand-in"),
        "never": (http.client.HTTPConnection("127.0.0.1", 8497), "ken/never"),
        "always": (http.client.HTTPConnection("127.0.0.1", 8497), "ken/always"),
    }
    for line, _ in lines.values():
        line.connect()
        line.sock.setsockopt(6, 1, 1)
    print("round,way,ms")
    for number in range(-20, requests):
        for way, (line, model) in lines.items():
            messages = [
                {"role": "system", "content": "You answer for the harbor office, in one sentence."},
                {"role": "user", "content": "How do I make a corpus of my notes?"},
            ]
            body = json.dumps({"model": model, "messages": messages, "temperature": 0})
            begun = time.perf_counter()
            line.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
            answer = line.getresponse()
            said = json.loads(answer.read())
            took = (time.perf_counter() - begun) * 1000
            assert answer.status == 200 and said["choices"][0]["message"]["content"] == "At berth 14.", said
            if way != "direct":
                assert said["ken"]["searches"] == (way == "always"), said["ken"]
            if number >= 0:
                print(f"{number},{way},{took:.3f}")
finally:
    front.terminate()
    front.wait()
