"""The rows of `ken plan --capacity` from what measure.py wrote: rows.py GROWTH.jsonl

At each wanted recall the seconds of a search stand between those of the two lists around it, in logarithms of the seconds and of what
is missed. Lists that a wanted recall chose are left out: there, ken promises a lower bound.
"""

import json
import math
import sys

WANTED = (0.9, 0.95, 0.99)
TIMES = ("p50_ms", "p99_ms")


def between(points, wanted):
    """The row's numbers at a recall; those of the shortest list, if that finds more; None if no list finds as much."""
    above = next((i for i, point in enumerate(points) if point["recall"] >= wanted), None)
    if above is None:
        return None
    high = points[above]
    low = points[max(above - 1, 0)]
    missed = [math.log(max(1 - point["recall"], 1e-4)) for point in (low, high)]
    share = 1 if low is high else (math.log(1 - wanted) - missed[0]) / (missed[1] - missed[0])
    mixed = lambda of: math.exp(math.log(of(low)) * (1 - share) + math.log(of(high)) * share)
    row = {name: mixed(lambda point: point[name]) for name in TIMES}
    row["queries_per_s"] = mixed(lambda point: point["queries_per_s"])
    row["effort"] = round(mixed(lambda point: int(point["effort"])))
    row["recall"] = max(wanted, low["recall"]) if low is high else wanted
    return row


for line in sorted(map(json.loads, open(sys.argv[1])), key=lambda row: row["build"]["vectors"]):
    build, search = line["build"], line["search"]
    points = [point for point in search["points"] if "." not in point["effort"]]
    for wanted in WANTED:
        row = between(points, wanted)
        if row:
            print(json.dumps({
                "vectors": build["vectors"], "dimensions": 384, "build_s": build["build_s"], "build_threads": line["threads"],
                "build_peak_bytes": build["peak_anonymous_bytes"], "file_bytes": build["file_bytes"],
                "resident_bytes": search["resident_bytes"], **row,
            }))
