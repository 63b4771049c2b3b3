"""Tokens a second of runs of both sides, the first step of each left out.

python3 rates.py KEN-1.jsonl PEFT-1.jsonl KEN-2.jsonl PEFT-2.jsonl ...
"""

import json
import sys
from statistics import median

rates = {"ken": [], "peft": []}
for path in sys.argv[1:]:
    side = "ken" if "ken" in path.rsplit("/", 1)[-1] else "peft"
    with open(path) as lines:
        steps = [json.loads(line) for line in lines]
    tokens, seconds = (sum(step[key] for step in steps[1:]) for key in ("tokens", "seconds"))
    rates[side].append(tokens / seconds)
    first = steps[0]["tokens"] / steps[0]["seconds"]
    print(f"{path}: {tokens} tokens in {seconds:.1f} s, {rates[side][-1]:.1f} a second; first step {first:.1f}")
for side, numbers in rates.items():
    print(f"{side}: median {median(numbers):.1f} of {[round(x, 1) for x in numbers]}")
pairs = [ken / peft for ken, peft in zip(rates["ken"], rates["peft"])]
print(f"ratio: median {median(pairs):.2f} of {[round(x, 2) for x in pairs]}")
