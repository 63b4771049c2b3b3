#!/usr/bin/env python3
"""How exact scoring is: log probabilities of `ken model score` (precision `auto`) against an independent implementation.

    python3 exactness.py KEN MODEL.gguf GOLDEN.json

GOLDEN.json has `cases`, each with a `prompt`, a `continuation` and its `continuation_logprobs`, in f32 of the
dequantized weights.
"""
import json
import subprocess
import sys

ken, model, golden = sys.argv[1:]
cases = json.load(open(golden))["cases"]
differences = []
for case in cases:
    command = [ken, "model", "score", model, "--prompt", case["prompt"], "--continuation", case["continuation"], "--json"]
    text = subprocess.run(command, check=True, capture_output=True).stdout
    scored = json.loads(text)["logprobs"]
    assert len(scored) == len(case["continuation_logprobs"]), case["prompt"]
    differences += [abs(a - b) for a, b in zip(scored, case["continuation_logprobs"])]
mean = sum(differences) / len(differences)
print(f"|log p - golden| mean {mean:.6f}, worst {max(differences):.6f} over {len(differences)} tokens")
