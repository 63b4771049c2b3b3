"""Measurements: what a model knows, which policy pays, how large a model and a corpus have to be. Each runs a verb of
the program `ken`, whose flags are its keywords; repeated with the same `out`, it resumes."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ._records import records as _records
from ._verbs import run
from .corpus import Corpus, PathLike
from .report import Report


def probe(
    questions: Any,
    *,
    model: PathLike | None = None,
    corpus: Corpus | PathLike | None = None,
    out: PathLike | None = None,
    **options: Any,
) -> Report:
    """Measures what a model knows about each question, without evidence and with it.

    Args:
        questions: A file of JSON Lines, or records with a `question` and `golden_answers`: mappings, a data frame, an Arrow
            table. Those without an `id` are numbered.
        model: The name of a language model; by default the one of the settings.
        corpus: A `Corpus` or its path; without it, only the model's own knowledge is measured.
        out: The file of records; without it, nothing is kept.
        **options: Flags of `ken probe`, such as `samples=30`, `limit=200`, `k=3`, `seed=1`.

    Returns:
        A row per question.
    """
    with _questions(questions) as file, _place(out) as place:
        kept = _file(place, out, "probe.jsonl")
        rows = run("probe", file, out=kept, model=model, corpus=_address(corpus), **options)
        return Report(rows, rows, _page(kept.with_name(kept.name + ".html")))


def card(
    questions: Any,
    *,
    model: PathLike | None = None,
    corpus: Corpus | PathLike | None = None,
    out: PathLike | None = None,
    **options: Any,
) -> Report:
    """Shows what a model knows, whether it knows that it knows, what evidence does to it, and what a search is worth.

    Args:
        questions: As in `probe`.
        model: As in `probe`.
        corpus: A `Corpus` or its path.
        out: The folder of answers and of the card; without it, nothing is kept.
        **options: Flags of `ken card`, such as `by`, `limit`, `k`.

    Returns:
        A row for each value of each field of the questions' metadata, and one for all. `report["signals"]` and
        `report["search"]` have the rest.
    """
    with _questions(questions) as file, _place(out) as place:
        [data] = run("card", file, out=place, model=model, corpus=_address(corpus), **options)
        rows = [{"field": None, "value": None, **data["all"]}]
        for by in data["by"]:
            rows += ({"field": by["field"], "value": value, **known} for value, known in by["groups"])
        return Report(data, rows, _page(place / "report.html"))


def compare(
    questions: Any,
    policies: Iterable[str] = ("never", "always", "documents"),
    *,
    model: PathLike | None = None,
    corpus: Corpus | PathLike | None = None,
    out: PathLike | None = None,
    **options: Any,
) -> Report:
    """Compares policies on the same questions, each against the better of never and always retrieving.

    Args:
        questions: As in `probe`.
        policies: At least two, such as `certainty` or `prompt@0.5`; of those without a threshold, the best in hindsight is shown.
        model: As in `probe`.
        corpus: A `Corpus` or its path.
        out: The folder of answers and reports; without it, nothing is kept.
        **options: Flags of `ken eval`, such as `limit`, `records`, `by`, `correct`, `seed`.

    Returns:
        A row per policy.
    """
    with _questions(questions) as file, _place(out) as place:
        names = ",".join(policies)
        [data] = run("eval", file, policy=names, out=place, model=model, corpus=_address(corpus), **options)
        return Report(data, data.get("policies", [data]), _page(place / "report.html"))


def tune(
    questions: Any,
    *,
    model: PathLike | None = None,
    corpus: Corpus | PathLike | None = None,
    out: PathLike | None = None,
    confirm: Any = None,
    **options: Any,
) -> Report:
    """Chooses the cheapest policy that is shown to lose at most `max_loss` against the better of never and always retrieving.

    Args:
        questions: As in `probe`; 30 at least, and about 200 tell policies apart.
        model: As in `probe`.
        corpus: A `Corpus` or its path.
        out: The folder of answers; without it, nothing is kept.
        confirm: Other questions, on which the chosen policy is tried once.
        **options: Flags of `ken tune`, such as `max_loss=0.05`, `limit`, `write=True`.

    Returns:
        A row per policy. `report["chosen"]` is the policy to use, `report["why"]` says why.
    """
    with _questions(questions) as file, _questions(confirm) as others, _place(out) as place:
        [data] = run("tune", file, out=place, confirm=others, model=model, corpus=_address(corpus), **options)
        return Report(data, data["policies"])


def calibrate(records: PathLike, policy: str, **options: Any) -> Report:
    """Chooses the threshold of a policy on what `probe` recorded.

    Args:
        records: A file that `probe` wrote.
        policy: By its signal: `certainty`, `evidence:gate`, …
        **options: Flags of `ken calibrate`, such as `ratio`, `max_loss`, `out`.

    Returns:
        One row.
    """
    [data] = run("calibrate", records, policy=policy, **options)
    return Report(data, [data])


def study(
    questions: Any,
    corpus: Corpus | PathLike,
    models: Mapping[str, PathLike],
    *,
    scales: str,
    out: PathLike | None = None,
    by: str | None = None,
    **options: Any,
) -> Report:
    """Answers questions with every model at every scale of a corpus: which model, and how much of the corpus, is enough.

    Args:
        questions: As in `probe`.
        corpus: A `Corpus` or its folder, ingested with `shards`.
        models: The name or path of each, by its name in the report.
        scales: Numbers of shards, `0-4` or `0,1,4`; 0 is without retrieval.
        out: The folder of the study; without it, nothing is kept.
        by: A field of the questions' metadata by which the report is broken down.
        **options: Flags of `ken study run`.

    Returns:
        A row for each model at each scale above 0, with what it has `known` without retrieval.
        `report["compensation"]` says how many shards make up for a smaller model.
    """
    named = [f"{name}={os.fspath(reference)}" for name, reference in models.items()]
    with _questions(questions) as file, _place(out) as place:
        run("study run", file, model=named, scales=scales, corpus=_address(corpus), out=place, **options)
        [data] = run("study report", place, by=by)
        rows = [
            {**{name: series[name] for name in ("dataset", "model", "parameters", "known")}, **scale}
            for series in data["series"]
            for scale in series["scales"]
        ]
        return Report(data, rows, _page(place / "report.html"))


def label_mastery(
    corpus: Corpus | PathLike,
    *,
    model: PathLike | None = None,
    questions: Any = None,
    records: PathLike | None = None,
    out: PathLike | None = None,
    **options: Any,
) -> Report:
    """Measures how well a model knows each sentence of a corpus without reading it.

    Args:
        corpus: A `Corpus` or its folder.
        model: As in `probe`.
        questions: Questions of your own, as in `probe`, whose `metadata` names the `gold_passage`; without them, a model writes
            questions.
        records: With `questions`: their file of `probe`.
        out: The file of labels, which `prune` takes; without it, nothing is kept.
        **options: Flags of `ken label mastery`, such as `limit`, `writer`, `correct`, `held_out`.

    Returns:
        A row per sentence, with its `mastery` from 0 to 1, or None if no question was good enough.
    """
    with _questions(questions) as file, _place(out) as place:
        kept = _file(place, out, "mastery.jsonl")
        named = {"questions": file, "records": records, "model": model, "corpus": _address(corpus)}
        rows = run("label mastery", out=kept, **named, **options)
        return Report(rows, rows)


def prune(corpus: Corpus | PathLike, *, questions: Any = None, **options: Any) -> Report:
    """Leaves passages out of all results: those that the model knows best. `Corpus.rollback` restores them.

    Args:
        corpus: A `Corpus`, which switches to the remaining passages, or its folder.
        questions: As in `probe`, for `max_coverage_loss`.
        **options: Flags of `ken prune apply`, such as `ratio=0.3`, `max_coverage_loss=0.02`, `method`, `labels`, `pruner`,
            `dry_run=True`.

    Returns:
        One row.
    """
    with _questions(questions) as file:
        [data] = run("prune apply", questions=file, corpus=_address(corpus), **options)
    if isinstance(corpus, Corpus):
        corpus.refresh()
    return Report(data, [data])


def prune_report(
    questions: Any,
    corpus: Corpus | PathLike,
    *,
    model: PathLike | None = None,
    out: PathLike | None = None,
    **options: Any,
) -> Report:
    """Measures what pruning does to answers, size and speed. The corpus stays as it is.

    Args:
        questions: As in `probe`; not those that the labels come from.
        corpus: A `Corpus` or its folder.
        model: As in `probe`.
        out: The folder of answers; without it, nothing is kept.
        **options: Flags of `ken prune report`, such as `ratios="0,0.3"`, `method`, `labels`, `pruner`, `policy`, `limit`.

    Returns:
        A row for each method at each ratio, and at the end one for no corpus at all.
    """
    with _questions(questions) as file, _place(out) as place:
        [data] = run("prune report", questions=file, corpus=_address(corpus), model=model, out=place, **options)
        return Report(data, [*data["rows"], data["no_corpus"]], _page(place / "report.html"))


def _address(corpus: Corpus | PathLike | None) -> PathLike | None:
    return corpus.address if isinstance(corpus, Corpus) else corpus


@contextlib.contextmanager
def _questions(questions: Any) -> Iterator[pathlib.Path | None]:
    """A file of the questions."""
    if questions is None or isinstance(questions, (str, os.PathLike)):
        yield None if questions is None else pathlib.Path(questions)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "questions.jsonl"
        with file.open("w", encoding="utf-8") as lines:
            for number, line in enumerate(_records(questions), 1):
                record = json.loads(line)
                lines.write(json.dumps({**record, "id": str(record.get("id", number))}) + "\n")
        yield file


@contextlib.contextmanager
def _place(out: PathLike | None) -> Iterator[pathlib.Path]:
    """Where results are kept, or a folder that goes with them."""
    if out is not None:
        yield pathlib.Path(out)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield pathlib.Path(folder) / "results"


def _file(place: pathlib.Path, out: PathLike | None, name: str) -> pathlib.Path:
    if out is not None:
        return place
    place.mkdir()
    return place / name


def _page(path: pathlib.Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None
