#!/usr/bin/env python3
"""Check questions.jsonl against the manuals it asks about.

Usage: python3 check.py DOCS      (the folder that manuals.py filled)

Verifies that ids are unique and splits known, that every stated question
names an existing document of the stated format, and that at least one of its
golden answers occurs in the document's text (ignoring case, white space
normalized). Prints a note for each golden answer that does not occur (other
spellings are allowed), the counts by kind, split, format and package, and the
size of the text. Exits with status 1 if anything failed. PDF files are read
with `pdftotext`; without it they are skipped with a note.
"""
import collections
import functools
import html.parser
import json
import shutil
import subprocess
import sys
from pathlib import Path

KINDS = {"stated", "unanswerable", "general"}
# None leaves the part to answers.py.
SPLITS = {None, "validation", "confirm"}


class Stripper(html.parser.HTMLParser):
    """Collects the text of an HTML page, without scripts and styles."""

    def __init__(self):
        super().__init__()
        self.parts, self.hidden = [], 0

    def handle_starttag(self, tag, attrs):
        self.hidden += tag in ("script", "style")

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style") and self.hidden > 0

    def handle_data(self, data):
        if not self.hidden:
            self.parts.append(data)


@functools.lru_cache(maxsize=None)
def text_of(path):
    """The text of one document, or None if it cannot be read here."""
    if path.suffix == ".pdf":
        if not shutil.which("pdftotext"):
            return None
        return subprocess.run(["pdftotext", "-enc", "UTF-8", str(path), "-"], check=True,
                              capture_output=True).stdout.decode("utf-8", "replace")
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".html":
        stripper = Stripper()
        stripper.feed(text)
        text = "".join(stripper.parts)
    return text


def normalize(text):
    return " ".join(text.replace("\u00ad", "").split()).casefold()


def main(questions, docs):
    failures, skipped, seen = [], set(), set()
    counts = {name: collections.Counter() for name in ("kind", "split", "format", "package")}
    normalized = functools.lru_cache(maxsize=None)(lambda path: normalize(text_of(path)))
    for number, line in enumerate(questions.read_text(encoding="utf-8").splitlines(), 1):
        entry = json.loads(line)
        name, meta, golden = entry["id"], entry["metadata"], entry["golden_answers"]
        if name in seen:
            failures.append(f"line {number}: id {name} occurs twice")
        seen.add(name)
        kind = meta["kind"]
        counts["kind"][kind] += 1
        if kind not in KINDS:
            failures.append(f"{name}: unknown kind {kind}")
        split = meta.get("split")
        counts["split"][split or "by order"] += 1
        if split not in SPLITS:
            failures.append(f"{name}: unknown split {split}")
        if bool(golden) == (kind == "unanswerable"):
            failures.append(f"{name}: {len(golden)} golden answers for kind {kind}")
        if kind != "stated":
            continue
        path = docs / meta["document"]
        counts["format"][meta["format"]] += 1
        counts["package"][meta["document"].split("/")[0]] += 1
        if not path.is_file():
            failures.append(f"{name}: no document {meta['document']}")
        elif path.suffix != "." + meta["format"]:
            failures.append(f"{name}: {meta['document']} is not {meta['format']}")
        elif text_of(path) is None:
            skipped.add(meta["document"])
        else:
            missing = [answer for answer in golden if normalize(answer) not in normalized(path)]
            if len(missing) == len(golden):
                failures.append(f"{name}: none of {golden} occurs in {meta['document']}")
            elif missing:
                print(f"note: {name}: not literally in the document: {missing}")
    files = [path for path in docs.rglob("*") if path.is_file()]
    size = sum(len(text_of(path) or "") for path in files)
    for name, counter in counts.items():
        print(f"{name}: " + ", ".join(f"{key} {counter[key]}" for key in sorted(counter)))
    print(f"text: {size / 1e6:.2f} million characters in {len(files)} files")
    for document in sorted(skipped):
        print(f"skipped, pdftotext is not installed: {document}")
    for failure in failures:
        print("FAILED", failure)
    print(f"{len(seen)} questions, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(__file__).resolve().parent / "questions.jsonl", Path(sys.argv[1])))
