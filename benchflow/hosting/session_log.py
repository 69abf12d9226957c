"""The log of a session without ACP: what its provider told of it, and what the run saw, event by event."""

from collections.abc import Iterable
from pathlib import Path

import orjson

from benchflow.contracts import Event
from benchflow.log import LogFile
from benchflow.redact import Redactor
from benchflow.store import SESSION_LOG


def write_session_log(folder: Path, events: Iterable[Event], session_id: str, redactor: Redactor) -> None:
    """Write the events, in the order of the clock."""
    log = LogFile(folder / SESSION_LOG, redactor)
    try:
        for event in sorted(events, key=lambda event: event.mono_ms):
            log.write(_line(event, session_id))
    finally:
        log.close()


def _line(event: Event, session_id: str) -> bytes:
    head = {"ts": event.ts, "mono_ms": event.mono_ms, "type": event.type, "source": event.source}
    return orjson.dumps({**head, "session_id": session_id, "data": event.data}, option=orjson.OPT_APPEND_NEWLINE)
