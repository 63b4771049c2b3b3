"""Progress: a callback of the caller, or a bar by tqdm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

from ._optional import imported

#: Receives the name of the work, the amount done, and the total, or None if that is unknown.
Callback = Callable[[str, int, Union[int, None]], object]

#: None for no progress, True for a bar by tqdm, or a callback.
Progress = Union[None, bool, Callback]


def callback(progress: Progress) -> Callback | None:
    """The function that receives the progress, if any."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return _bars()
    if not callable(progress):
        raise TypeError(f"progress= takes True, None or a function, not {type(progress).__name__}")
    return progress


def _bars() -> Callback:
    """Draws a bar for each kind of work, one after the other."""
    tqdm = imported("tqdm.auto", "progress=True").tqdm
    bar: Any = None

    def show(what: str, done: int, total: int | None) -> None:
        nonlocal bar
        if bar is None or bar.desc.removesuffix(": ") != what:
            if bar is not None:
                bar.close()
            bar = tqdm(desc=what, total=total, unit_scale=True)
        bar.total = total
        bar.update(done - bar.n)
        if done == total:
            bar.close()
            bar = None

    return show
