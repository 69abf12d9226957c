"""Keeps what a comparison has shown: the record of its verdicts, and, where it is asked for, the runs alone."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchflow import __version__
from benchflow.errors import InputError
from benchflow.parity.capture import Capture, NotRun
from benchflow.parity.comparison import Parity
from benchflow.parity.fixture import fixture_path, write_fixture
from benchflow.parity.local import local_of
from benchflow.parity.record import record_of, write_record
from benchflow.parity.request import Subject
from benchflow.parity.shown import local_record, own_record


def keep(subject: Subject, parity: Parity, alone: Mapping[str, Sequence[Capture | NotRun]]) -> list[Path]:
    """Write what is to be kept; return the files. Raises InputError where one cannot be written."""
    kept: list[Path] = []
    if subject.standard:
        place = record_place(subject)
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        hide = local_of(subject.home, subject.environ).hidden
        record = record_of(parity, subject.agent, measured=now, benchflow_version=__version__, hide=hide)
        try:
            write_record(place, record)
        except OSError as exc:
            raise InputError(f"{place}: cannot be written ({exc.strerror})") from exc
        kept.append(place)
    if subject.request.fixture:
        kept += _fixtures(subject, alone)
    return kept


def check_places(subject: Subject) -> None:
    """Raise InputError, before anything runs, where what is asked for could not be kept."""
    if subject.request.in_place and subject.standard:
        record_place(subject)
    if subject.request.fixture:
        fixture_path(subject.agent, subject.scenarios[0].id)


def record_place(subject: Subject) -> Path:
    """Return where the record of a comparison belongs. Raises InputError where there is no such place."""
    if not subject.request.in_place:
        return local_record(subject.agent, subject.home)
    place = own_record(subject.agent)
    if place is None:
        raise InputError(f"--in-place: {subject.agent.label} has no manifest of its own to keep a record beside")
    return place


def _fixtures(subject: Subject, alone: Mapping[str, Sequence[Capture | NotRun]]) -> list[Path]:
    local = local_of(subject.home, subject.environ)
    written: list[Path] = []
    for scenario in subject.scenarios:
        path = fixture_path(subject.agent, scenario.id)
        runs = alone[scenario.id]
        captures = [local.hide(each) for each in runs if isinstance(each, Capture)]
        if len(captures) < len(runs):
            raise InputError(f"{path}: was not written: the agent could not be run alone on {scenario.id}")
        write_fixture(path, captures)
        written.append(path)
    return written
