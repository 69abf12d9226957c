"""Calls that bring nothing new, calls that are tried again, and changes that go back. Pure, and linear."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchflow.behaviour.calls import Call, read_calls
from benchflow.behaviour.once import once_per_trace
from benchflow.behaviour.purpose import undoes
from benchflow.contracts import SessionTrace


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """For each call of a session, in order, whether it is one of these."""

    redundant: Sequence[bool]
    retried: Sequence[bool]
    backtracks: Sequence[bool]


@once_per_trace
def read_repeats(trace: SessionTrace) -> Repeats:
    """Return what the calls of a trace repeat and take back."""
    calls = read_calls(trace)
    return Repeats(redundant=redundant(calls), retried=retried(calls), backtracks=backtracks(calls))


def redundant(calls: Iterable[Call]) -> list[bool]:
    """Tell of each call whether it is redundant.

    It is if a call with the same name and input came before it, that one did not fail, and no other call that changes
    or runs something stands between them: reading a file twice is redundant, reading it again after an edit is not.
    """
    found: list[bool] = []
    epoch = 0
    last: dict[bytes, int] = {}
    for call in calls:
        known = call.key is not None and last.get(call.key) == epoch
        found.append(known)
        if not known and call.purpose in ("change", "run"):
            epoch += 1
        if call.key is not None:
            last[call.key] = -1 if call.failure else epoch
    return found


def retried(calls: Iterable[Call]) -> list[bool]:
    """Tell of each call whether it repeats one with the same name and input that had failed, as its status says."""
    found: list[bool] = []
    failed: set[bytes] = set()
    for call in calls:
        key = call.key
        found.append(key is not None and key in failed)
        if key is not None and call.record.status == "failed":
            failed.add(key)
        elif key is not None:
            failed.discard(key)
    return found


def backtracks(calls: Iterable[Call]) -> list[bool]:
    """Tell of each call whether it goes back.

    It does if it changes a file that was changed before, and another was changed since; or if its command line takes
    changes back (git restore, revert, stash, reset --hard, checkout --).
    """
    found: list[bool] = []
    changed: set[str] = set()
    last: str | None = None
    for call in calls:
        path = call.path if call.purpose == "change" else None
        found.append(bool(call.command and undoes(call.command)) or (path in changed and path != last))
        if path is not None:
            changed.add(path)
            last = path
    return found
