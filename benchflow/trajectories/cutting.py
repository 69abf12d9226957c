"""Where the work of a session ends that a budget ended: what came later is on record, and counts for nothing."""

from collections.abc import Iterable, Iterator

from benchflow.contracts import Event


def until_limit(events: Iterable[Event]) -> Iterator[Event]:
    """Yield events up to the one that says that a budget has ended the session's work; all of them if none does."""
    for event in events:
        if ends_work(event):
            return
        yield event


def ends_work(event: Event) -> bool:
    """Tell whether it is that one. A word of the gateway is about a single request."""
    return event.type == "limit" and event.source == "harness"
