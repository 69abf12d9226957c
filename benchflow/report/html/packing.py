"""What the page carries of its trials: each one's detail compressed by itself, as far as the whole has room."""

import base64
import gzip
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import orjson

from benchflow.report.html.detail import read_detail
from benchflow.row import ProfileRow
from benchflow.store import StoredRun

MOST_BYTES = 32_000_000
"""Of all trials' details together, as they stand in the page."""
_LEVEL = 6


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A trial whose detail the page is to have."""

    run: StoredRun
    key: str
    id: str
    row: ProfileRow | None


@dataclass(frozen=True, kw_only=True)
class Packed:
    """The details that found room, and how many did not."""

    blocks: dict[str, str]
    """Trial's id → its detail: JSON, gzip, base64."""
    left_out: int


def pack_trials(wanted: Sequence[Wanted], most_bytes: int = MOST_BYTES) -> Packed:
    """Read and compress trials until there is no room. What did not pass comes first, then what ended last."""
    blocks: dict[str, str] = {}
    room = most_bytes
    for trial in _by_interest(wanted):
        block = pack(read_detail(trial.run.trial(trial.key)))
        room -= len(block)
        if room < 0:
            break
        blocks[trial.id] = block
    return Packed(blocks=blocks, left_out=len(wanted) - len(blocks))


def pack(value: object) -> str:
    """Compress a value's JSON into text that can stand anywhere in a page."""
    content = gzip.compress(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS), _LEVEL, mtime=0)
    return base64.b64encode(content).decode()


def _by_interest(wanted: Iterable[Wanted]) -> Iterator[Wanted]:
    newest = sorted(wanted, key=lambda trial: trial.row.completed_at if trial.row else "", reverse=True)
    return iter(sorted(newest, key=lambda trial: bool(trial.row and trial.row.success)))
