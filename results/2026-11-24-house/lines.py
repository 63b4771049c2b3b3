#!/usr/bin/env python3
"""Lines of Rust by crate: code, comments, blank, and those of tests.

    git -C CHECKOUT checkout COMMIT && python3 lines.py CHECKOUT > lines.csv

Tests are the files below `tests`, files named `tests.rs`, folders named `tests`, and what stands in a `#[cfg(test)]`
module to the end of its file. All lines of these count as tests, whatever they are; `src` is the sum of all lines
below a crate's `src`, tests included.
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
print("crate,src,code,comments,blank,tests")
sums = [0] * 5
for folder in sorted([*root.glob("crates/*"), root / "torture", root / "xtask"]):
    if not (folder / "Cargo.toml").exists():
        continue
    src = code = comments = blank = tests = 0
    for file in sorted(folder.rglob("*.rs")):
        parts = file.relative_to(folder).parts
        if "target" in parts:
            continue
        lines = file.read_text().splitlines()
        src += len(lines) * (parts[0] == "src")
        in_tests = "tests" in parts[:-1] or parts[-1] == "tests.rs"
        for at, line in enumerate(lines):
            text = line.strip()
            rest = "\n".join(lines[at : at + 4])
            if text == "#[cfg(test)]" and re.search(r"\bmod \w+ \{", rest):
                in_tests = True
            if in_tests:
                tests += 1
            elif not text:
                blank += 1
            elif text.startswith("//"):
                comments += 1
            else:
                code += 1
    row = [src, code, comments, blank, tests]
    sums = [a + b for a, b in zip(sums, row)]
    print(",".join([str(folder.relative_to(root)), *map(str, row)]))
print(",".join(["all", *map(str, sums)]))
