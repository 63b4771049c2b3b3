"""What the files of clients share: where the server is, what they ask of it, and the rows of the table that they print.

A trial is a function; the first line of its docstring says what is tried. Its result is checked as far as the server is responsible for it:
before the stand-in, the words are known; a model inside `ken` may write any words, but they have to have the form.
"""
import importlib.metadata
import json
import os
import time
import traceback
import urllib.request

from pydantic import BaseModel

# Rows alone go to the caller; what clients print goes where errors go.
caller = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

SERVER = os.environ.get("TRIAL_SERVER", "")
BASE = f"{SERVER}/v1"
MODEL = os.environ.get("TRIAL_MODEL", "")
TOOLS = os.environ.get("TRIAL_TOOLS") == "yes"
STAND_IN = os.environ.get("TRIAL_STAND_IN", "")

QUESTION = "At which berth is the Marigold?"
TOOL_QUESTION = "What is the tide at Orsand?"
SYSTEM = "You answer for the harbor office, in a few words. The Marigold lies at berth 14."
PARAMETERS = {"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]}
TOOL = {"type": "function", "function": {"name": "tide", "description": "The tide of a port.", "parameters": PARAMETERS}}


def tide(port: str) -> str:
    """The tide of a port.

    Args:
        port: The name of the port.
    """
    return "high"


def asked(question=QUESTION):
    """A question after the system's message."""
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]


class Answer(BaseModel):
    """Where a ship lies."""

    berth: int


def needs_tools(trial):
    """Marks a trial that a model without tools in its template cannot pass."""
    trial.needs_tools = True
    return trial


def stand_in_only(trial):
    """Marks a trial that depends on what the model writes."""
    trial.only = "stand-in"
    return trial


def inside_only(trial):
    """Marks a trial of what only a model inside `ken` has."""
    trial.only = "inside"
    return trial


def check_words(text, expected):
    """Text of the model: the stand-in's words are known, those of a model inside `ken` are not."""
    assert isinstance(text, str) and text.strip(), f"no words: {text!r}"
    assert not STAND_IN or text.strip() == expected, f"{text!r} in place of {expected!r}"


def check_berth(berth):
    """A number of an answer by a schema."""
    assert isinstance(berth, int), f"{berth!r} is no integer"
    assert not STAND_IN or berth == 14, berth


def check_call(name, arguments):
    """A call of the tool, with arguments by its schema."""
    arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
    assert name == "tide" and list(arguments) == ["port"] and isinstance(arguments["port"], str), (name, arguments)


def report(package, trials, version=None):
    """Runs the trials and prints a row of each."""
    version = version or importlib.metadata.version(package)
    for trial in trials:
        if getattr(trial, "only", None) not in (None, "stand-in" if STAND_IN else "inside"):
            continue
        started = time.monotonic()
        outcome = outcome_of(trial)
        row = {"client": package, "version": version, "what": trial.__doc__.splitlines()[0].rstrip("."), "outcome": outcome}
        print(json.dumps({**row, "seconds": round(time.monotonic() - started, 1)}), file=caller, flush=True)
    # Threads of a client must not keep its process.
    os._exit(0)


def outcome_of(trial):
    if getattr(trial, "needs_tools", False) and not TOOLS:
        return "skipped: the model's template has no tools"
    try:
        requests_seen()
        trial()
        check_evidence(requests_seen())
    except BaseException as error:
        traceback.print_exc()
        return f"failed: {type(error).__name__}: {error}".replace("\n", " ")[:300]
    return "ok"


def requests_seen():
    """What the stand-in was asked since this was last called: how many requests, and how many that held the evidence."""
    if not STAND_IN:
        return {"requests": 0, "with_evidence": 0}
    with urllib.request.urlopen(f"{STAND_IN}/seen", timeout=10) as response:
        return json.load(response)


def check_evidence(seen):
    assert seen["requests"] == seen["with_evidence"], f"the model server got requests without evidence: {seen}"
