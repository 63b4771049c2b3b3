"""Seconds of `ken ingest` for 600 passages of about 100 words by two programs, alternating. Usage: ingest.py BEFORE AFTER EMBEDDER ROUNDS"""
import json, os, pathlib, subprocess, sys, tempfile, time

before, after, embedder = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:4])
text = lambda i: f"The valve number {i} is painted red and checked every {i % 40 + 1} days by crew {i % 7}, who log it in book {i % 13}. " * (2 + i % 4)
out = {"before_s": [], "after_s": [], "before_cpu_s": [], "after_cpu_s": []}
with tempfile.TemporaryDirectory() as work:
    source = pathlib.Path(work) / "more.jsonl"
    source.write_text("".join(json.dumps({"id": f"m{i}", "contents": text(i)}) + "\n" for i in range(600)))
    for round in range(int(sys.argv[4])):
        for name, program in [("before", before), ("after", after)][::1 if round % 2 == 0 else -1]:
            begun, cpu = time.time(), os.times()
            subprocess.run([program, "ingest", str(source), "--corpus", f"{name}{round}.ken", "--embedder", embedder], cwd=work, check=True, capture_output=True)
            used = os.times()
            out[f"{name}_s"].append(float(f"{time.time() - begun:.2f}"))
            out[f"{name}_cpu_s"].append(float(f"{used.children_user - cpu.children_user + used.children_system - cpu.children_system:.2f}"))
out["load"] = pathlib.Path("/proc/loadavg").read_text().split()[:3]
print(json.dumps(out, indent=1))
