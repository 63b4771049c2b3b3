"""results/2026-11-28-links/README.md from links.json: python3 readme.py links.json > README.md"""
import json, sys
rows = json.load(open(sys.argv[1]))
print("""# Links, pipes, sockets and hard links in the place of everything

`cargo xtask torture links --out results/2026-11-28-links` (the dev profile; raw numbers in `links.json`): each of nine
things takes the place of each file and folder that a store keeps or is about to write, where it can; then each verb. A
change outside the store, a refusal that does not name the thing or has more than a line, and whatever takes more than 30
seconds is a violation. Two cores; seconds say little.

| store | places | cases | attempts | refused | done | violations | seconds |
|---|---|---|---|---|---|---|---|""")
for o in rows:
    n = o["numbers"]
    print(f"| {o['world']} | {n['places']} | {n['cases']:,} | {n['attempts']:,} | {n['refused']:,} | {n['done']:,} | {o['violation_count']} | {o['seconds']:.1f} |")
