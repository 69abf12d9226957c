"""A certificate of a trial: that its model requests were sent on as the agent sent them, and all that was changed.

It counts what became of them, and has one digest over the digests of all of them, as received and as sent on, with
their changes. Whoever has the log of the exchanges can make it again. Pure.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import orjson

from benchflow.errors import InputError
from benchflow.gateway.message import Change, ChangeKind, Exchange
from benchflow.gateway.records.exchanges import read_exchanges

CERTIFICATE = "certificate"
"""Where it stands among the extensions of a row."""
EXPECTED: frozenset[ChangeKind] = frozenset({"credentials", "hop_headers", "replay"})
"""What is changed without a change of what is asked."""


@dataclass(frozen=True, kw_only=True)
class Passage:
    """What became of one request."""

    seq: int
    received: str
    forwarded: str | None
    """None: it was answered here, or the agent left."""
    changes: tuple[Change, ...]

    @property
    def as_received(self) -> bool:
        """It was sent on with the bytes that came, to where it was to go, but for credentials and the like."""
        return self.forwarded == self.received and all(change.kind in EXPECTED for change in self.changes)


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """What became of all requests of a trial."""

    requests: int
    as_received: int
    """Sent on with the very bytes that came; nothing was changed but credentials and headers of the connection."""
    not_forwarded: int
    """Answered by the gateway itself, or left by the agent before they were sent on."""
    changes: Mapping[str, int]
    """In how many requests something of each kind was changed."""
    digest: str
    """SHA-256 over number, digests and changes of all requests, in the order in which they arrived."""

    @classmethod
    def of(cls, passages: Iterable[Passage]) -> Self:
        """Make it."""
        ordered = sorted(passages, key=lambda passage: passage.seq)
        kinds = Counter(kind for passage in ordered for kind in {change.kind for change in passage.changes})
        whole = sha256()
        for passage in ordered:
            changes = [[change.kind, change.path] for change in passage.changes]
            whole.update(orjson.dumps([passage.seq, passage.received, passage.forwarded, changes]) + b"\n")
        return cls(
            requests=len(ordered),
            as_received=sum(passage.as_received for passage in ordered),
            not_forwarded=sum(passage.forwarded is None for passage in ordered),
            changes=dict(sorted(kinds.items())),
            digest=whole.hexdigest(),
        )

    @classmethod
    def read(cls, extensions: Mapping[str, Any]) -> Self | None:
        """Return that of a row; None: it has none that can be read."""
        value = extensions.get(CERTIFICATE)
        try:
            return cls(**value) if isinstance(value, Mapping) else None
        except TypeError:
            return None

    @property
    def altered(self) -> int:
        """How many requests were sent on, but not as they came."""
        return self.requests - self.as_received - self.not_forwarded


def certify(exchanges: Iterable[Exchange]) -> Certificate:
    """Return the certificate of a trial's exchanges."""
    return Certificate.of(
        Passage(
            seq=exchange.seq,
            received=exchange.sha256_received,
            forwarded=exchange.sha256_forwarded,
            changes=tuple(exchange.changes),
        )
        for exchange in exchanges
    )


def certify_log(path: Path) -> Certificate | None:
    """Make the certificate again of a log of exchanges; None: there is no such log. Raises InputError for a bad one."""
    if not path.is_file():
        return None
    try:
        return Certificate.of(
            Passage(
                seq=recorded.seq,
                received=recorded.line["request"]["sha256_received"],
                forwarded=recorded.line["request"]["sha256_forwarded"],
                changes=recorded.changes,
            )
            for recorded in read_exchanges(path)
        )
    except (KeyError, TypeError) as exc:
        raise InputError(f"{path}: has an exchange without its digests ({exc!r}); restore the file") from exc
