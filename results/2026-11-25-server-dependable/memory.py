"""What each kind of work leaves in the memory of a server: one kind at a time, for some seconds each.

    python3 memory.py KEN MODELS SECONDS KIND...

KEN is the program, MODELS the folder of the test models. A KIND is one of: asks, ingests, compactions, reloads,
idle, and all, which is asks beside everything else. Prints RssAnon and RssFile in MiB as it goes, for each kind with a server of its own. Variables
such as MALLOC_ARENA_MAX reach the server.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

QUESTIONS = [
    "Who is the keeper of the Orrin lighthouse?",
    "When does the bakery of Tollen open?",
    "How long is the rope bridge over the Lenn?",
    "When does the ferry to Sandrey leave?",
]


class Server:
    def __init__(self, ken, models, folder):
        self.folder = folder
        self.env = {name: value for name, value in os.environ.items() if not name.startswith("KEN_")}
        self.env |= {
            "KEN_HOME": f"{folder}/home",
            "KEN_MODEL": f"{models}/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            "KEN_EMBEDDER": f"{models}/minilm",
            "HF_ENDPOINT": "http://127.0.0.1:9",
        }
        self.ken = ken
        self.reloading, self.changing = threading.Lock(), threading.Lock()
        os.makedirs(f"{folder}/notes")
        texts = [
            "The lighthouse of Orrin was built in 1871. The keeper of the Orrin lighthouse is Ilse Marrow.",
            "The bakery opens at five. Its stone oven was built by Anders Pell in 1902.",
            "The ferry to Sandrey leaves at 7:40 from pier four and takes an hour.",
            "The rope bridge over the Lenn is 48 metres long.",
        ]
        for number, text in enumerate(texts):
            with open(f"{folder}/notes/{number}.txt", "w") as file:
                file.write(text + "\n")
        self.call("ingest", "notes", "--corpus", "island")
        log = open(f"{folder}/log.jsonl", "w")
        serve = ["serve", "--json", "--listen", "127.0.0.1:0", "--corpus", "notes=island"]
        serve += ["--server-data", "data", "--parallel", "16", "--queue", "32"]
        self.child = subprocess.Popen(
            [ken, *serve], cwd=folder, env=self.env, stdout=subprocess.PIPE, stderr=log
        )
        self.url = json.loads(self.child.stdout.readline())["url"].removesuffix("/v1")

    def call(self, *arguments):
        subprocess.run([self.ken, *arguments], cwd=self.folder, env=self.env, check=True, stdout=subprocess.DEVNULL)

    def send(self, method, path, body=b"", kind="application/json"):
        request = urllib.request.Request(self.url + path, body or None, {"content-type": kind}, method=method)
        with urllib.request.urlopen(request, timeout=300) as response:
            return response.read()

    def memory(self):
        with open(f"/proc/{self.child.pid}/status") as status:
            lines = dict(line.split(":", 1) for line in status)
        return {
            name: int(lines[name].split()[0]) / (1 if name == "Threads" else 1024)
            for name in ("RssAnon", "RssFile", "Threads")
        }

    def ask(self, number):
        policy = ["always", "never", "prompt"][number // 4 % 3]
        body = {
            "model": f"ken/{policy}",
            "messages": [{"role": "user", "content": QUESTIONS[number % 4]}],
            "stream": number % 2 == 0,
            "max_tokens": 6,
            "ken": {"style": "short", "k": 1},
        }
        self.send("POST", "/v1/chat/completions", json.dumps(body).encode())

    def job(self, job):
        path = f"/v1/ken/jobs/{json.loads(job)['id']}"
        while True:
            state = json.loads(self.send("GET", path))
            if state["status"] == "done":
                return
            assert state["status"] in ("waiting", "running"), state
            time.sleep(0.02)

    def ingest(self, number):
        text = f"Crate {number} in the cellar holds {number} jars of plums and a broom.\n"
        name = f"crate{number % 20}.md"
        head = f'--b\r\ncontent-disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        body = f"{head}{text}\r\n--b--\r\n".encode()
        path = "/v1/ken/corpora/notes/documents"
        self.job(self.send("POST", path, body, "multipart/form-data; boundary=b"))

    def compact(self, number):
        self.ingest(number)
        if number % 5 == 4:
            self.call("corpus", "compact", "--corpus", "island")

    def reload(self, _):
        # Two at once are refused.
        with self.reloading:
            self.send("POST", "/v1/ken/reload")

    def end(self):
        self.child.kill()
        self.child.wait()


    def all(self, number):
        match number % 40:
            case 0:
                self.reload(number)
            case 10 | 20 | 30:
                # A corpus has one writer.
                with self.changing:
                    self.compact(number // 10)
            case _:
                self.ask(number)


CLIENTS = {"asks": 32, "all": 32}
WORK = {
    "asks": Server.ask,
    "ingests": Server.ingest,
    "compactions": Server.compact,
    "reloads": Server.reload,
    "all": Server.all,
    "idle": lambda _, __: time.sleep(1),
}


def measure(ken, models, seconds, kind):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(ken, models, folder)
        try:
            begun, done, lock, failed = time.time(), [0], threading.Lock(), []

            def client():
                while time.time() < begun + seconds and not failed:
                    with lock:
                        number = done[0]
                        done[0] += 1
                    try:
                        WORK[kind](server, number)
                    except Exception as error:
                        failed.append(error)

            clients = [threading.Thread(target=client) for _ in range(CLIENTS.get(kind, 1))]
            for one in clients:
                one.start()
            while any(one.is_alive() for one in clients):
                now = server.memory()
                print(
                    f"{kind} {time.time() - begun:6.1f} s, {done[0]:6} done: anonymous {now['RssAnon']:7.1f}, "
                    f"of files {now['RssFile']:7.1f} MiB, {now['Threads']:.0f} threads",
                    flush=True,
                )
                time.sleep(max(seconds / 12, 1))
            if failed:
                raise failed[0]
            time.sleep(2)
            now = server.memory()
            print(f"{kind} over, {done[0]} done: anonymous {now['RssAnon']:.1f}, of files {now['RssFile']:.1f} MiB")
        finally:
            server.end()


if __name__ == "__main__":
    ken, models, seconds, *kinds = sys.argv[1:]
    for kind in kinds:
        measure(ken, models, float(seconds), kind)
