"""What the papers are measured on: a folder with `train`, `validation` and `test` questions and one or more corpora, as JSON Lines.

Each builder returns questions and corpora, and `write` puts them into the folder. Which part a question belongs to follows from its subject
alone, so that nothing about what the test asks for is taught.
"""
import hashlib
import importlib.util
import json
import pathlib
import re
import unicodedata

# Of all subjects, how many tests ask for, and how many validate; the others train.
SHARES = {"test": 0.5, "validation": 0.25, "train": 0.25}


def question(id, text, answers, subject, **metadata):
    return {"id": id, "question": text, "golden_answers": answers, "metadata": {"subject": subject, **metadata}}


def passage(id, title, text):
    return {"id": id, "title": title, "text": text}


def part(subject):
    place = int(hashlib.sha256(subject.encode()).hexdigest()[:8], 16) / 2**32
    for name, share in SHARES.items():
        if place < share:
            return name
        place -= share
    return "train"


def write(folder, questions, corpora):
    """Writes a ground whole or not at all."""
    partial = folder.with_name(folder.name + ".partial")
    partial.mkdir(parents=True, exist_ok=True)
    for name in SHARES:
        write_lines(partial / f"{name}.jsonl", [row for row in questions if part(row["metadata"]["subject"]) == name])
    for name, passages in corpora.items():
        write_lines(partial / f"{name}.corpus.jsonl", passages)
    partial.rename(folder)


def write_lines(path, rows):
    with open(path, "w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def read_lines(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def words(text):
    """The words of a text without case and accents, as golden answers are looked for."""
    plain = "".join(sign for sign in unicodedata.normalize("NFD", text.casefold()) if not unicodedata.combining(sign))
    return re.findall(r"\w+", plain)


def holds(text_words, answer):
    """Whether words have an answer's words in a row."""
    return f" {' '.join(words(answer))} " in f" {' '.join(text_words)} "


def package_folder(name):
    """Where a package lies, without importing it and what it depends on."""
    return pathlib.Path(importlib.util.find_spec(name).origin).parent
