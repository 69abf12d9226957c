"""Captures of an agent alone, kept beside its manifest: what is compared with where it is not to be run alone again."""

import os
from collections.abc import Sequence
from pathlib import Path

import orjson

from benchflow.errors import InputError
from benchflow.manifest import Manifest
from benchflow.parity.capture import SCHEMA, Capture, capture_of
from benchflow.parity.packing import pack, unpack
from benchflow.scenario import Scenario

FOLDER = "fixtures"
"""Beside the manifest; what is in it is no part of the agent."""
MOST_BYTES = 512 * 1024
"""A file that is longer is refused: it would weigh more than it is worth."""


def fixture_path(manifest: Manifest, scenario: str) -> Path:
    """Return where an agent's fixture on a scenario belongs. Raises InputError where it has no manifest's file."""
    if manifest.path is None:
        raise InputError(f"{manifest.place}: has no folder that a fixture could be kept in; register it as a manifest")
    variant = f"{manifest.variant}." if manifest.variant else ""
    return manifest.path.parent / FOLDER / f"{variant}{scenario}.json"


def write_fixture(path: Path, captures: Sequence[Capture]) -> None:
    """Write the runs alone, already without what is the machine's. Raises InputError where they are too long."""
    content = pack([orjson.loads(capture.to_json()) for capture in captures])
    if len(content) > MOST_BYTES:
        raise InputError(
            f"{path}: would take {len(content):,} bytes, more than {MOST_BYTES:,}; compare this agent without a fixture"
        )
    draft = path.with_name(f".{path.name}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(content)
        os.replace(draft, path)
    except OSError as exc:
        raise InputError(f"{path}: cannot be written ({exc.strerror})") from exc


def read_fixture(path: Path) -> list[Capture]:
    """Read the runs alone that a fixture holds. Raises InputError."""
    remedy = "make it anew with `benchflow parity --fixture`"
    try:
        value = unpack(path.read_bytes())
    except FileNotFoundError as exc:
        raise InputError(f"{path}: there is no such fixture; make it with `benchflow parity --fixture`") from exc
    except OSError as exc:
        raise InputError(f"{path}: cannot be read ({exc.strerror})") from exc
    except ValueError as exc:
        raise InputError(f"{path}: is no fixture ({exc}); {remedy}") from exc
    if not isinstance(value, list) or not value:
        raise InputError(f"{path}: holds no capture; {remedy}")
    return [capture_of(each, str(path)) for each in value]


def read_fresh(manifest: Manifest, scenario: Scenario) -> list[Capture]:
    """Read an agent's fixture on a scenario. Raises InputError where it is not there, or stale."""
    path = fixture_path(manifest, scenario.id)
    captures = read_fixture(path)
    for capture in captures:
        if reason := _stale(capture, manifest, scenario):
            raise InputError(f"{path}: is stale: {reason}; make it anew with `benchflow parity --fixture`")
    return captures


def _stale(capture: Capture, manifest: Manifest, scenario: Scenario) -> str | None:
    if capture.schema != SCHEMA:
        return f"it is of schema {capture.schema}, and this BenchFlow captures by schema {SCHEMA}"
    if capture.agent_digest != manifest.digest:
        return "the manifest, or a file beside it, was changed since"
    if capture.scenario_digest != scenario.digest:
        return f"the scenario {scenario.id} was changed since"
    return None
