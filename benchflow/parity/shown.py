"""Whether parity was shown of an agent as it is now: by what is recorded beside its manifest, or on this machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from benchflow.errors import InputError
from benchflow.machine.home import Home
from benchflow.manifest import Manifest
from benchflow.parity.capture import SCHEMA as CAPTURED
from benchflow.parity.comparison import Word
from benchflow.parity.record import FILE, ParityRecord, read_record
from benchflow.scenario import BUNDLED, load_scenario

Answer = Literal["yes", "no", "undecided", "stale", "never"]
_ANSWERS: dict[Word, Answer] = {"parity": "yes", "divergence": "no", "undecided": "undecided"}


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What is known of an agent's parity."""

    answer: Answer
    record: ParityRecord | None = None
    """None: there is none that can be read."""
    stale: str | None = None
    """Why the record says nothing of the agent as it is now; None: it does, or there is none."""


NEVER = Shown(answer="never")


def own_record(manifest: Manifest) -> Path | None:
    """Return where a record stands that belongs to the manifest; None: it has no file, or is a variant of one."""
    return manifest.path.parent / FILE if manifest.path and not manifest.variant else None


def local_record(manifest: Manifest, home: Home) -> Path:
    """Return where a record stands, or would, that was made on this machine."""
    return home.evidence / "parity" / f"{quote(manifest.label, safe='')}.json"


def shown_of(manifest: Manifest, home: Home | None) -> Shown:
    """Return what the newest fresh record says. `home` None: what was shown on this machine does not count."""
    found: list[ParityRecord] = []
    problem: str | None = None
    for path in (own_record(manifest), local_record(manifest, home) if home else None):
        if path is not None and path.is_file():
            try:
                found.append(read_record(path))
            except InputError as error:
                problem = str(error)
    return judge(manifest, found) if found or not problem else Shown(answer="stale", stale=problem)


def judge(manifest: Manifest, records: Sequence[ParityRecord]) -> Shown:
    """Return what the newest of the records says that are not stale; if all are, that they are."""
    if not records:
        return NEVER
    judged = [(record, _stale(record, manifest)) for record in records]
    fresh = [record for record, stale in judged if stale is None]
    if fresh:
        record = max(fresh, key=lambda each: each.measured)
        return Shown(answer=_ANSWERS[record.word], record=record)
    record, stale = max(judged, key=lambda each: each[0].measured)
    return Shown(answer="stale", record=record, stale=stale)


def _stale(record: ParityRecord, manifest: Manifest) -> str | None:
    if record.compared != CAPTURED:
        return f"compared by schema {record.compared}, and this BenchFlow compares by schema {CAPTURED}"
    if record.declared_version != manifest.version:
        return f"compared at version {record.declared_version}, and the manifest now installs {manifest.version}"
    if record.manifest_digest != manifest.digest:
        return "compared before its manifest, or a file beside it, was changed"
    changed = [each.scenario for each in record.scenarios if _bundled(each.scenario) not in (None, each.digest)]
    return f"compared before {', '.join(changed)} was changed" if changed else None


@cache
def _bundled(scenario: str) -> str | None:
    """Return the digest of a bundled scenario; None: there is none of that id."""
    folder = BUNDLED / scenario
    return load_scenario(folder).digest if folder.is_dir() and folder.parent == BUNDLED else None
