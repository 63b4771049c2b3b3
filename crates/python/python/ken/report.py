"""A report: a measurement as data, as a table and as a page."""

from __future__ import annotations

import html
import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Union

from ._optional import imported

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Report:
    """The results of a measurement.

    Attributes:
        data: All results, as the program prints them with `--json`.
        rows: Their table, one mapping per row; names of nested values have dots, as in `vs_better.em_difference`.
        html: The page that the program writes, with its figures; None if it writes none.
    """

    def __init__(self, data: Any, rows: list[dict[str, Any]], page: str | None = None) -> None:
        self.data = data
        self.rows = [dict(_flat(row)) for row in rows]
        self.html = page

    def __getitem__(self, name: str) -> Any:
        """A part of the data."""
        return self.data[name]

    def __len__(self) -> int:
        return len(self.rows)

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame of pandas."""
        return imported("pandas", "a data frame").DataFrame(self.rows)

    def to_polars(self) -> polars.DataFrame:
        """The rows as a data frame of polars."""
        frame: polars.DataFrame = imported("polars", "a data frame of polars").DataFrame(self.rows, infer_schema_length=None)
        return frame

    def to_arrow(self) -> pyarrow.Table:
        """The rows as a table of Arrow."""
        return imported("pyarrow", "a table of Arrow").Table.from_pylist(self.rows)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the page."""
        pathlib.Path(path).write_text(self.html or self._table(), encoding="utf-8")

    def _repr_html_(self) -> str:
        if self.html is None:
            return self._table()
        page = html.escape(self.html, quote=True)
        return f'<iframe srcdoc="{page}" sandbox="allow-scripts" style="width:100%;height:40em;border:0"></iframe>'

    def _table(self) -> str:
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join(f"<tr>{''.join(_cell(row.get(name)) for name in names)}</tr>" for row in self.rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def __repr__(self) -> str:
        return f"ken.Report({len(self.rows)} rows: {', '.join(self.rows[0]) if self.rows else 'nothing'})"


def _cell(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)
    return f"<td>{html.escape(text)}</td>"


def _flat(row: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield before + name, value
