"""Remembers what was read of a trace for as long as the trace lives: all collectors and analyzers read the same one."""

import weakref
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from benchflow.contracts import SessionTrace

T = TypeVar("T")


def once_per_trace(read: Callable[[SessionTrace], T]) -> Callable[[SessionTrace], T]:
    """Let `read` be called once for each trace. What it returns is shared, and must not hold on to the trace."""
    known: dict[int, T] = {}

    @wraps(read)
    def remembered(trace: SessionTrace) -> T:
        if id(trace) not in known:
            known[id(trace)] = read(trace)
            weakref.finalize(trace, known.pop, id(trace), None).atexit = False
        return known[id(trace)]

    return remembered
