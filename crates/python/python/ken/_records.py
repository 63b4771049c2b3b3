"""Records from any source, one by one as JSON: mappings, pairs, data frames, Arrow tables, data sets."""

from __future__ import annotations

import datetime
import decimal
import json
import math
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ._optional import imported


def records(source: Any) -> Iterator[str]:
    """The records of a source, each as a JSON object."""
    return (_json(record) for record in _rows(source))


def _rows(source: Any) -> Iterator[Mapping[str, Any]]:
    """The rows of a source, whose attributes tell its kind."""
    if isinstance(source, (str, bytes, Mapping)) or not hasattr(source, "__iter__"):
        if not hasattr(source, "__arrow_c_stream__"):
            raise TypeError(
                "records are an iterable of mappings or of (id, text) pairs, a data frame or an Arrow table, "
                f"not {type(source).__name__}"
            )
    if hasattr(source, "iter_rows"):  # polars
        return iter(source.iter_rows(named=True))
    if hasattr(source, "itertuples") and hasattr(source, "columns"):  # pandas
        return _pandas(source)
    if hasattr(source, "to_batches"):  # pyarrow.Table
        return _arrow(source.to_batches())
    if hasattr(source, "read_next_batch"):  # pyarrow.RecordBatchReader
        return _arrow(source)
    if hasattr(source, "__arrow_c_stream__") and not hasattr(source, "features"):
        arrow = imported("pyarrow", "a table by Arrow's interface")
        return _arrow(arrow.RecordBatchReader.from_stream(source))
    return (_mapping(record) for record in source)


def _pandas(frame: Any) -> Iterator[Mapping[str, Any]]:
    names = [str(name) for name in frame.columns]
    is_missing = frame.isna()
    for row, missing in zip(
        frame.itertuples(index=False, name=None), is_missing.itertuples(index=False, name=None)
    ):
        yield {name: None if gone else value for name, value, gone in zip(names, row, missing)}


def _arrow(batches: Iterable[Any]) -> Iterator[Mapping[str, Any]]:
    for batch in batches:
        yield from batch.to_pylist()


def _mapping(record: Any) -> Mapping[str, Any]:
    if isinstance(record, Mapping):
        return record
    if isinstance(record, tuple) and len(record) == 2:
        return {"id": record[0], "text": record[1]}
    raise TypeError(f"a record is a mapping or an (id, text) pair, not {type(record).__name__}: {record!r:.80}")


def _json(record: Mapping[str, Any]) -> str:
    try:
        return json.dumps(record, default=_plain, allow_nan=False, ensure_ascii=False)
    except ValueError:
        return json.dumps(_without_nan(record), default=_plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Converts a value that JSON lacks into one that it has."""
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (decimal.Decimal, uuid.UUID)):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (set, frozenset)):
        return list(value)
    if hasattr(value, "tolist"):  # numpy
        return _without_nan(value.tolist())
    raise TypeError(f"a value of {type(value).__name__} cannot be taken into a corpus: {value!r:.80}")


def _without_nan(value: Any) -> Any:
    """The value, with None for numbers that are not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _without_nan(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(inner) for inner in value]
    return value
