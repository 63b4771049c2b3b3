"""How long a search takes beside another client's embeddings and beside an ingest in the same server, and how fast
documents are ingested. Usage: places.py KEN EMBEDDER MODEL > OUT.json, with the folders of both models."""
import http.client, json, pathlib, re, socket, statistics, subprocess, sys, tempfile, threading, time

KEN, EMBEDDER, MODEL = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:4])
PAUSE, LONGEST = 0.05, 90


def section(i):
    return f"The valve number {i} is painted red and checked every {i % 40 + 1} days by crew {i % 7}, who log it in book {i % 13}. " * 4


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, work):
        self.port = free_port()
        self.process = subprocess.Popen(
            [KEN, "serve", "--corpus", "notes.ken", "--model", MODEL, "--listen", f"127.0.0.1:{self.port}", "--server-data", "data"],
            cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while self.process.poll() is None:
            try:
                if self.send("GET", "/ready")[0] == 200:
                    return
            except OSError:
                time.sleep(0.2)
        sys.exit("the server did not start")

    def send(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        if body is not None and not isinstance(body, bytes):
            body, headers = json.dumps(body).encode(), {"content-type": "application/json"}
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        status, content = response.status, response.read()
        connection.close()
        return status, content

    def search(self, query):
        begun = time.time()
        status, _ = self.send("POST", "/v1/ken/search", {"query": query})
        assert status == 200, status
        return time.time() - begun


def searches(server, going):
    """The seconds of searches, one after the other, as long as something goes on."""
    times, begun = [], time.time()
    while going() and time.time() - begun < LONGEST:
        times.append(server.search(f"which crew checks valve {len(times)} at {time.time()}"))
        time.sleep(PAUSE)
    return times


def told(times):
    times = sorted(times)
    at = lambda share: round(times[min(len(times) - 1, int(share * len(times)))], 4)
    return {"searches": len(times), "p50_s": at(0.5), "p99_s": at(0.99), "longest_s": round(times[-1], 4),
            "times_s": [round(t, 4) for t in times]}


def main():
    out = {"cpu": re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())[1],
           "instructions": sorted(set(re.findall(r"\b(?:avx2|avx512\w+|amx_\w+|fma)\b", pathlib.Path("/proc/cpuinfo").read_text()))),
           "load_before": pathlib.Path("/proc/loadavg").read_text().split()[:3]}
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        (work / "notes.jsonl").write_text("".join(json.dumps({"id": str(i), "contents": section(i)}) + "\n" for i in range(40)))
        (work / "more.jsonl").write_text("".join(json.dumps({"id": f"m{i}", "contents": section(i)}) + "\n" for i in range(600)))
        ingest = lambda source, corpus: subprocess.run([KEN, "ingest", source, "--corpus", corpus, "--embedder", EMBEDDER], cwd=work, check=True, capture_output=True)
        ingest("notes.jsonl", "notes.ken")
        begun = time.time()
        ingest("more.jsonl", "more.ken")
        out["ingest_alone"] = {"passages": 600, "seconds": round(time.time() - begun, 2)}
        server = Server(work)
        try:
            count = iter(range(150))
            out["idle"] = told(searches(server, lambda: next(count, None) is not None))
            texts = [section(i) for i in range(2048)]
            batch = threading.Thread(target=server.send, args=("POST", "/v1/embeddings", {"model": "ken/embedder", "input": texts}), daemon=True)
            batch.start()
            time.sleep(0.5)
            out["beside_embeddings"] = told(searches(server, batch.is_alive))
            batch.join(300)
            server.send("POST", "/v1/ken/corpora", {"name": "valves"})
            body = (b'--b\r\ncontent-disposition: form-data; name="file"; filename="more.jsonl"\r\n\r\n' + (work / "more.jsonl").read_bytes() + b"\r\n--b--\r\n")
            _, file = server.send("POST", "/v1/files", body, {"content-type": "multipart/form-data; boundary=b"})
            file = json.loads(file)["id"]
            begun = time.time()
            server.send("POST", "/v1/vector_stores/valves/files", {"file_id": file})
            ended = []

            def going():
                state = json.loads(server.send("GET", f"/v1/vector_stores/valves/files/{file}")[1])["status"]
                if state != "in_progress":
                    ended.append(round(time.time() - begun, 2))
                return not ended
            out["beside_ingest"] = told(searches(server, going))
            out["beside_ingest"]["ingest_seconds"] = ended[0] if ended else None
        finally:
            server.process.kill()
            server.process.wait()
    out["load_after"] = pathlib.Path("/proc/loadavg").read_text().split()[:3]
    print(json.dumps(out, indent=1))


main()
