"""Hands a session's events to its observers as they happen: in order, numbered, and never in the way of the session."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from benchflow.clock import Stamp
from benchflow.contracts import Event, EventObserver, EventSource, EventType


class Broadcast:
    """A queue of events and the task that empties it. Without observers it does nothing at all."""

    def __init__(self, observers: Sequence[EventObserver]) -> None:
        self._observers = observers
        self._queue: asyncio.Queue[Event | None] = asyncio.Queue()
        self._task = asyncio.create_task(self._deliver()) if observers else None
        self._seq = 0
        self.session_id = ""

    def send(self, type: EventType, source: EventSource, data: Mapping[str, Any], stamp: Stamp) -> None:
        """Queue an event."""
        if self._task is None:
            return
        event = Event(
            seq=self._seq,
            ts=stamp.ts,
            mono_ms=stamp.mono_ms,
            type=type,
            source=source,
            session_id=self.session_id,
            data=data,
        )
        self._seq += 1
        self._queue.put_nowait(event)

    async def aclose(self) -> None:
        """Deliver what is queued, and end. Raises what an observer raised."""
        if self._task is not None:
            self._queue.put_nowait(None)
            await self._task
            self._task = None

    async def _deliver(self) -> None:
        while (event := await self._queue.get()) is not None:
            for observer in self._observers:
                await observer.on_event(event)
