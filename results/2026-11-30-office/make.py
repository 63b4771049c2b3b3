#!/usr/bin/env python3
"""The manuals again as Office files and books: python3 make.py MANUALS OUT.

HTML becomes docx, Markdown odt and text epub, by pandoc; PDFs, which it does not read, are copied. A file keeps its
name but for its ending, so that the questions of questions.jsonl hold for both.
"""
import pathlib
import shutil
import subprocess
import sys

manuals, out = map(pathlib.Path, sys.argv[1:])
ENDING = {".html": ".docx", ".md": ".odt", ".txt": ".epub"}
READ = {".html": "html", ".md": "gfm", ".txt": "markdown"}
for path in sorted(manuals.rglob("*")):
    if not path.is_file():
        continue
    target = out / path.relative_to(manuals)
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix not in ENDING:
        shutil.copy(path, target)
        continue
    command = ["pandoc", "-f", READ[path.suffix], "-o", target.with_suffix(ENDING[path.suffix])]
    if path.suffix == ".txt":
        # Plain text: its lines stand as they are.
        text = "```\n" + path.read_text().replace("```", "'''") + "\n```\n"
        subprocess.run(command, input=text, text=True, check=True, stderr=subprocess.DEVNULL)
    else:
        subprocess.run([*command, path], check=True, stderr=subprocess.DEVNULL)
