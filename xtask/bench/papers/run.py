"""One run of a table: its grounds, its corpora, the commands of `ken` and what they printed, and the table itself.

A command that was done is not run again, and one that was interrupted goes on, since ken's verbs do. What all tables share lies beside them.
"""
import json
import pathlib
import random
import subprocess
import sys

import fanout
import places
import vital
from ground import read_lines, write, write_lines

GROUNDS = {
    "places": lambda files: places.build(),
    "hops": lambda files: places.build(two_hops=True),
    "fanout": lambda files: fanout.build(),
    "vital": vital.build,
}
PAPERS = ("zero-rag", "kbm", "sr-rag", "less-llm")


class Run:
    def __init__(self, options, ground):
        self.options, self.shared = options, options.out.resolve()
        self.models = dict(named(word) for word in options.model)
        files = [path.resolve() for path in options.questions]
        name = options.ground or ("vital" if files else ground)
        if name == "vital" and not files:
            sys.exit("the ground `vital` takes files of questions: --questions triviaqa.jsonl")
        self.ground = self.shared / "grounds" / "-".join([name, *(path.name.split(".")[0] for path in files if name == "vital")])
        if not self.ground.exists():
            write(self.ground, *GROUNDS[name](files))
        # The tables of one paper share what they have in common.
        paper = next(paper for paper in PAPERS if options.table.startswith(paper))
        limit = [f"limit-{options.limit}"] if options.limit else []
        self.out = self.shared / "-".join([paper, self.ground.name, *self.models, *limit])
        (self.out / "commands").mkdir(parents=True, exist_ok=True)
        self.table = self.out / f"{options.table}.md"
        self.table.write_text("")

    @property
    def model(self):
        """The flags that name the model of a table with one model."""
        if len(self.models) > 1:
            sys.exit(f"{self.options.table} takes one --model")
        return ["--model", next(iter(self.models.values()))]

    def questions(self, *parts, keep=None):
        """A file of the questions of these parts: of all, or of a random `--limit` of each, of those that `keep` holds for."""
        rows = []
        for part in parts:
            of_part = [row for row in read_lines(self.ground / f"{part}.jsonl") if keep is None or keep[1](row)]
            limit = min(self.options.limit or len(of_part), len(of_part))
            rows += random.Random(0).sample(of_part, limit)
        path = self.out / ("-".join([*parts, *(keep[:1] if keep else [])]) + ".jsonl")
        write_lines(path, rows)
        return path

    def corpora(self, shards=1):
        """The corpora of the ground by name, ingested; the one that has everything comes first."""
        found = {}
        for path in sorted(self.ground.glob("*.corpus.jsonl")):
            name = path.name.split(".")[0]
            found[name] = self.shared / "corpora" / f"{self.ground.name}-{name}-{shards}.ken"
            if not found[name].with_suffix(".ready").exists():
                found[name].parent.mkdir(exist_ok=True)
                words = ["ingest", path, "--corpus", found[name], "--embedder", self.options.embedder.resolve()]
                self.start([*words, "--shards", str(shards)])
                found[name].with_suffix(".ready").touch()
        return found

    def corpus(self, shards=1):
        return next(iter(self.corpora(shards).values()))

    def ken(self, stage, *words):
        """What a command of ken printed as JSON, or None where it printed a summary alone."""
        words, kept = [str(word) for word in words], self.out / "commands" / f"{stage}.json"
        if kept.exists():
            done = json.loads(kept.read_text())
            if done["command"] == words:
                return done["printed"]
        printed = self.start(words)
        printed = json.loads(printed) if printed.startswith("{") else None
        kept.write_text(json.dumps({"command": words, "printed": printed}, indent=1))
        return printed

    def start(self, words):
        print("ken", *words, file=sys.stderr)
        done = subprocess.run([self.options.ken.resolve(), *words], cwd=self.out, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            # With --json, the error is on stdout too.
            sys.exit(f"{done.stdout}ken failed with exit status {done.returncode}; the same command goes on where it stopped")
        return done.stdout

    def show(self, heading, columns, rows):
        """Prints a table as Markdown, and keeps it in a file. None is a number that was not measured."""
        lines = [f"### {heading}", "", line(columns), line(["---"] * len(columns)), *(line(map(cell, row)) for row in rows), ""]
        with open(self.table, "a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        print("\n".join(lines))


def named(word):
    """A model's name and its absolute path, of `NAME=FILE` or FILE."""
    name, _, path = word.rpartition("=")
    path = pathlib.Path(path)
    return name or path.stem, str(path.resolve()) if path.exists() else str(path)


def line(cells):
    return "| " + " | ".join(cells) + " |"


def cell(value):
    if value is None:
        return ""
    # Shares with three decimals, percentages with two.
    return f"{value:.{3 if abs(value) <= 1 else 2}f}" if isinstance(value, float) else str(value)
