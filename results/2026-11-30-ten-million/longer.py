"""Searches the graph that measure.py left with longer lists, and with little memory: longer.py FOLDER BINARY VECTORS CGROUP

CGROUP is a folder of the memory controller (cgroups v1) that this user may write. Its limit holds for the files that the search has in
memory, too, and the system's cache is emptied before. `first` is the median and the 99th percentile of the third pass over the questions.
"""

import json
import os
import subprocess
import sys

import numpy as np

from measure import run, truth

LIMITS_GB = (4, 2, 1)


def limited(folder, binary, count, group, gigabytes):
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("3")
    with open(os.path.join(group, "memory.limit_in_bytes"), "w") as file:
        file.write(str(gigabytes << 30))
    shell = os.path.join(folder, "limited.sh")
    with open(shell, "w") as file:
        file.write(f'#!/bin/sh\necho $$ > {group}/tasks\nexec {binary} "$@"\n')
    os.chmod(shell, 0o755)
    measured = run(shell, folder, "512", count, "1")
    return {"limit_gb": gigabytes} | measured


folder, binary, count, group = sys.argv[1:]
right = truth(folder, int(count))
search = run(binary, folder, "2048,4096", count, "1")
found = np.fromfile(os.path.join(folder, "found.u32"), np.uint32).reshape(-1, *right.shape)
for point, rows in zip(search["points"], found):
    point["recall"] = sum(len(set(a) & set(b)) for a, b in zip(rows.tolist(), right.tolist())) / right.size
print(json.dumps(search), flush=True)
for gigabytes in LIMITS_GB:
    print(json.dumps(limited(folder, binary, count, group, gigabytes)), flush=True)
