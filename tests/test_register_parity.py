"""Registering ends with whether parity was shown, and can show it at once."""

import json
from pathlib import Path
from typing import Any

import pytest
from test_parity_cli import plant

from benchflow.errors import InputError
from benchflow.evidence import Evidence, Machine, Step
from benchflow.machine.home import Home
from benchflow.manifest import load_manifest
from benchflow.parity.shown import shown_of
from benchflow.registering.comparing import compare_registered, refuse_parity
from benchflow.registering.register import Registered
from benchflow.registering.run import RegisterRequest

STEPS = ("install", "initialize", "session", "model", "scenario")


def registered(folder: Path, *, fails: str | None = None) -> Registered:
    """Return what registering the agent in the folder has measured."""
    manifest = load_manifest(folder)
    steps: Any = [Step(name=name, verdict="fail" if name == fails else "pass", took_ms=1, detail="") for name in STEPS]
    evidence = Evidence(
        agent=manifest.name,
        manifest_digest=manifest.digest,
        declared_version=manifest.version,
        benchflow_version="0",
        measured="2026-11-05T12:00:00Z",
        machine=Machine(system="Linux", python="3.12", sandbox="process"),
        network="gateway",
        steps=tuple(steps),
    )
    return Registered(manifest=manifest, evidence=evidence, evidence_path=None, logs=folder)


@pytest.mark.parametrize(("planted", "code", "answer"), [("none", 0, "yes"), ("sampling", 1, "no")])
def test_parity_is_shown_at_once_and_kept(tmp_path: Path, planted: str, code: int, answer: str) -> None:
    shell = plant(tmp_path, planted)
    done = registered(tmp_path / "planted")
    request = RegisterRequest(in_place=True, sandbox="process")

    got = compare_registered(done, request, scenarios=(str(tmp_path / "tiny"),), environ=shell.environ)

    assert got == code
    assert shown_of(done.manifest, Home.find(shell.environ)).answer == answer
    assert json.loads((tmp_path / "planted" / "parity.json").read_text())["agent"] == "planted"


def test_agent_that_could_not_be_measured_is_not_compared(tmp_path: Path) -> None:
    shell = plant(tmp_path, "none")

    got = compare_registered(
        registered(tmp_path / "planted", fails="session"), RegisterRequest(), environ=shell.environ
    )

    assert got == 3
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("request_", "every", "says"),
    [(RegisterRequest(), True, "leave --all away"), (RegisterRequest(keep=False), False, "leave --probe-only away")],
)
def test_many_agents_and_such_as_are_not_kept_are_not_compared(
    request_: RegisterRequest, every: bool, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        refuse_parity(request_, every=every)
