"""Calls as coroutines: on a thread, ended when the coroutine is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from . import _ken

T = TypeVar("T")


async def in_thread(call: Callable[..., T], /, *arguments: Any, **keywords: Any) -> T:
    """Runs `call`, which also takes `stop`, on a thread."""
    stop = _ken.Stop()
    try:
        return await asyncio.to_thread(call, *arguments, stop=stop, **keywords)
    except asyncio.CancelledError:
        stop.set()
        raise
