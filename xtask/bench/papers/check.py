#!/usr/bin/env python3
"""Checks a ground that `paper.py` built. Usage: check.py FOLDER...

Ids are unique; no subject is in two parts; the gold passage of each question is in the first corpus and has a golden answer as whole words; of
places, what the metadata say of `third-removed` and `stakes` is so. Prints counts, and exits with status 1 where something is not so.
"""
import collections
import pathlib
import sys

from ground import SHARES, holds, read_lines, words


def check(folder):
    problems = []
    parts = {name: read_lines(folder / f"{name}.jsonl") for name in SHARES}
    corpora = {path.name.split(".")[0]: {row["id"]: row for row in read_lines(path)} for path in sorted(folder.glob("*.corpus.jsonl"))}
    questions = [row for rows in parts.values() for row in rows]
    for path in folder.glob("*.jsonl"):
        ids = collections.Counter(row["id"] for row in read_lines(path))
        problems += [f"{path.name}: id {id} occurs {count} times" for id, count in ids.items() if count > 1]
    subjects = {name: {row["metadata"]["subject"] for row in rows} for name, rows in parts.items()}
    problems += [f"subject {subject} is taught and tested" for subject in subjects["test"] & (subjects["train"] | subjects["validation"])]
    whole = next(iter(corpora.values()))
    for row in questions:
        gold = row["metadata"].get("gold_passage")
        if not any(words(answer) for answer in row["golden_answers"]):
            problems.append(f"{row['id']} has no golden answer")
        elif gold is not None and gold not in whole:
            problems.append(f"{row['id']}: the corpus lacks {gold}")
        elif gold is not None and not any(holds(words(f"{whole[gold]['title']} {whole[gold]['text']}"), answer) for answer in row["golden_answers"]):
            problems.append(f"{row['id']}: {gold} does not answer it")
        problems += fate(row, corpora)
    print(f"{folder.name}: {', '.join(f'{len(rows)} {name}' for name, rows in parts.items())} questions;", end=" ")
    print(f"{', '.join(f'{len(rows)} passages {name}' for name, rows in corpora.items())}")
    return problems


def fate(row, corpora):
    facts, id = row["metadata"], row["id"]
    if "removed" not in facts:
        return []
    gold = facts["gold_passage"]
    problems = [] if facts["removed"] == (gold not in corpora["third-removed"]) else [f"{id}: `removed` is not so"]
    if (facts["told"] == "instead") != (gold not in corpora["stakes"]):
        problems.append(f"{id}: `told` is not so")
    namesakes = [one for one in corpora["stakes"].values() if one["title"] == corpora["covered"][gold]["title"] and one["id"] not in corpora["covered"]]
    if facts["told"] != "itself" and not namesakes:
        problems.append(f"{id}: has no namesake in `stakes`")
    if any(holds(words(one["text"]), answer) for one in namesakes for answer in row["golden_answers"]):
        problems.append(f"{id}: a namesake is in the same country")
    return problems


def main():
    problems = [problem for folder in sys.argv[1:] for problem in check(pathlib.Path(folder))]
    for problem in problems[:40]:
        print(problem)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
