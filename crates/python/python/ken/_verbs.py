"""Runs verbs of the program `ken` in a process of their own: a long measurement shares no memory with its caller, and
Ctrl-C ends it where nothing is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from ._errors import KenError


def run(verb: str, *arguments: Any, **options: Any) -> list[Any]:
    """Runs a verb with `--json` and returns the objects of its lines.

    Its progress and warnings go to the caller's stderr.
    """
    command = [sys.executable, "-m", "ken", *verb.split(), *map(os.fspath, arguments), *_flags(options), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
        try:
            printed, _ = process.communicate()
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)
            process.wait()
            raise
    lines = [json.loads(line) for line in printed.splitlines()]
    if process.returncode != 0:
        error = lines[-1].get("error", {}) if lines else {}
        message = error.get("message", f"ken {verb} ended with {process.returncode}")
        raise KenError(message, error.get("kind", "failed"), error.get("hint"))
    return lines


def _flags(options: Mapping[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            yield flag
            continue
        for item in value if isinstance(value, (list, tuple)) else [value]:
            if not isinstance(item, (str, int, float, os.PathLike)):
                raise TypeError(f"{name} is a text, a number or a path, not {type(item).__name__}")
            yield f"{flag}={os.fspath(item) if isinstance(item, os.PathLike) else item}"
