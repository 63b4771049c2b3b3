#!/usr/bin/env python3
"""What an adapter costs while answering: the same question with and without, in turns.

    python3 adapter.py MODEL.gguf 16 adapter
    python3 with_adapter.py ken MODEL.gguf adapter > with_adapter.json
"""
import json
import os
import subprocess
import sys

QUESTION = "the lamp of the old house by the water was lit by a man who kept a book of ships " * 30
QUESTION += "count from one to fifty in words, with commas"


def answer(program, path, precision, adapter):
    command = [program, "ask", "--policy", "never", "--model", path, "--precision", precision, "--json"]
    command += ["--max-tokens", "48", QUESTION] + (["--adapter", adapter] if adapter else [])
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    answer = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    tokens, timing = answer["tokens"], answer["timing_ms"]
    return {
        "peak_gb": usage.ru_maxrss / 1e6,
        "read_tokens_per_s": tokens["prompt"] / timing["read"] * 1e3,
        "stream_tokens_per_s": tokens["completion"] / timing["write"] * 1e3,
        "written": tokens["completion"],
    }


def main():
    program, path, adapter = sys.argv[1:]
    rounds = {}
    for precision in ["int8", "f32"]:
        for _ in range(2):
            for name, given in [("without", None), ("with", adapter)]:
                found = answer(program, path, precision, given)
                rounds.setdefault(f"{precision} {name}", []).append(found)
    print(json.dumps(rounds, indent=1))


main()
