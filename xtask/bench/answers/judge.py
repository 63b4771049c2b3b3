"""What is right, refused, invented and cited rightly, and the table of counts."""
import json
import math
import re
import statistics

REFUSALS = re.compile(
    r"documents do not say|do not know|don't know|no (?:specific )?(?:information|mention)|(?:not|n't) "
    r"(?:\w+ )?(?:mention|state|specif|provide|contain|include|given|list|describe|address|discuss|answer|say|available|clear)"
    r"|cannot|can't|unable",
    re.I,
)


def plain_text(text):
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text.lower()).replace("`", "")
    return " ".join(text.split())


def holds(text, answer):
    return re.search(r"(?<!\w)" + re.escape(plain_text(answer)) + r"(?!\w)", plain_text(text)) is not None


def is_right(question, record):
    return any(holds(record["answer"], golden) for golden in question["golden_answers"])


def is_refused(question, record):
    said = record.get("withheld") is not None or REFUSALS.search(record["answer"])
    return bool(said) and not is_right(question, record)


def is_invented(question, record):
    return not is_refused(question, record)


def is_cited(question, record):
    document = question["metadata"]["document"]
    names = (document, document.split("/", 1)[-1])
    return is_right(question, record) and any(cited in names for cited in record.get("cited", []))


ROWS = (
    ("stated, right", "stated", is_right),
    ("stated, right and cited rightly", "stated", is_cited),
    ("stated, refused", "stated", is_refused),
    ("unanswerable, invented for", "unanswerable", is_invented),
    ("general, right", "general", is_right),
    ("general, refused", "general", is_refused),
)


def wilson(count, of):
    """A share with its 95% interval."""
    if not of:
        return "-"
    z, p = 1.96, count / of
    middle, half = p + z * z / (2 * of), z * math.sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    low, high = ((middle + sign * half) / (1 + z * z / of) for sign in (-1, 1))
    return f"{count}/{of} ({low:.2f} to {high:.2f})"


def table(questions, arms):
    """Prints what came of the questions that every arm of `{name: path}` answered."""
    answers = {name: {record["id"]: record for record in map(json.loads, open(path))} for name, path in arms.items()}
    asked = [question for question in questions if all(question["id"] in records for records in answers.values())]
    lines = [["", *answers]]
    for words, kind, test in ROWS:
        of = [question for question in asked if question["metadata"]["kind"] == kind]
        lines.append([words, *(wilson(sum(test(q, records[q["id"]]) for q in of), len(of)) for records in answers.values())])
    for words, key in (("seconds, median", "s"), ("tokens read, median", "prompt_tokens")):
        known = [[records[q["id"]].get(key) for q in asked] for records in answers.values()]
        known = [[value for value in values if value is not None] for values in known]
        lines.append([words, *(f"{statistics.median(values):.1f}" if values else "-" for values in known)])
    widths = [max(map(len, column)) for column in zip(*lines)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())
