"""The certificate of a trial in words, and whether the log of its exchanges still says the same."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchflow.gateway.records.certificate import EXPECTED, Certificate, certify_log
from benchflow.report import numbers
from benchflow.row import ProfileRow
from benchflow.store import EXCHANGE_LOG

Verdict = Literal["holds", "broken", "no log"]
_NAMES = {"credentials": "credentials", "hop_headers": "hop headers", "replay": "a cassette's answers"}


@dataclass(frozen=True, kw_only=True)
class CertificateView:
    """A trial's certificate, made again from its log."""

    certificate: Certificate
    """As the row has it."""
    verdict: Verdict
    """broken: the log says something else."""


def view_certificate(row: ProfileRow | None, folder: Path) -> CertificateView | None:
    """Make the certificate again from the logs in `folder`, and compare. None: the row has none."""
    certificate = Certificate.read(row.extensions) if row else None
    if certificate is None:
        return None
    again = certify_log(folder / EXCHANGE_LOG)
    verdict: Verdict = "no log" if again is None else "holds" if again == certificate else "broken"
    return CertificateView(certificate=certificate, verdict=verdict)


def describe_certificate(certificate: Certificate) -> str:
    """Say what became of the requests of a trial."""
    return describe_passage(
        certificate.requests,
        as_received=certificate.as_received,
        not_forwarded=certificate.not_forwarded,
        changes=certificate.changes,
    )


def describe_passage(requests: int, *, as_received: int, not_forwarded: int, changes: Mapping[str, int]) -> str:
    """Say what became of so many requests. `changes`: in how many of them something of each kind was changed."""
    small = [_NAMES[kind] for kind in sorted(EXPECTED) if changes.get(kind)]
    but = f" but for {', '.join(small)}" if small else ""
    parts = [f"{as_received:,} forwarded as received{but}"]
    parts.append(f"model rewritten in {changes.get('model', 0):,}")
    if changes.get("wrap_up"):
        parts.append(f"a warning added to {changes['wrap_up']:,}")
    if not_forwarded:
        parts.append(f"{not_forwarded:,} not forwarded")
    return f"{numbers.plural(requests, 'request')}: {'; '.join(parts)}"
