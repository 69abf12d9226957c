"""What a probe measured of an agent: one versioned JSON document, from which alone, with what its manifest declares,
the agent's tier follows. It has no tier in it: anyone can measure again, and compute again.
"""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from benchflow.errors import InputError
from benchflow.model import StrictModel, parse
from benchflow.tiers import UNMEASURED, Declared, Measurement, Shown, Verdict, tier_of

SCHEMA = 1
FILE = "evidence.json"

StepName = Literal[
    "install",
    "initialize",
    "session",
    "model",
    "scenario",
    "second_prompt",
    "cancel",
    "permission",
    "upstream_401",
    "shutdown",
]
"""The probe's steps, in their order."""


class Step(StrictModel):
    """One thing that the probe tried."""

    name: StepName
    verdict: Verdict
    took_ms: float
    detail: str
    """What was seen, in a sentence."""
    remedy: str | None = None
    """What would make it pass; None where it does, or nobody knows."""
    facts: dict[str, Any] = Field(default_factory=dict)
    """What was measured, for machines."""


class Machine(StrictModel):
    """Where it was measured; nothing that tells whose machine it was."""

    system: str
    """Operating system and architecture."""
    python: str
    sandbox: str
    runtimes: dict[str, str] = Field(default_factory=dict)
    """Versions of the runtimes that the agent was run with."""


class Models(StrictModel):
    """What the agent says and does about its model."""

    offered: tuple[str, ...] = ()
    """Ids that it offered in `session/new`."""
    ways: dict[str, str] = Field(default_factory=dict)
    """Way to set it (`launch`, `set_config_option`, `set_model`) → what arrived on the wire then."""


class Captured(StrictModel):
    """What of the scenario's prompt was captured."""

    dialect: str | None = None
    main: int = 0
    """Completed main exchanges."""
    auxiliary: int = 0
    subagent: int = 0
    models_asked: tuple[str, ...] = ()
    models_enforced: int = 0
    """Requests whose model was rewritten."""
    updates: dict[str, int] = Field(default_factory=dict)
    """ACP updates by their kind."""


class Hosts(StrictModel):
    """Which hosts the agent tried to reach."""

    looked_up: tuple[str, ...] = ()
    complete: bool = False
    """Names were watched; addresses given as numbers never are."""
    note: str = ""


class Evidence(StrictModel):
    """One measurement of one agent."""

    schema_version: Literal[1] = SCHEMA
    agent: str
    """The manifest's name."""
    manifest_digest: str
    declared_version: str | None = None
    """The version that the manifest installs."""
    agent_name: str | None = None
    """`agentInfo.name` of `initialize`."""
    agent_version: str | None = None
    """`agentInfo.version` of `initialize`."""
    protocol_version: int | None = None
    benchflow_version: str
    measured: str
    """When, ISO 8601, UTC."""
    machine: Machine
    network: str
    """What it could reach: `gateway`, or `open`."""
    steps: tuple[Step, ...]
    capabilities: dict[str, Any] = Field(default_factory=dict)
    """`agentCapabilities` of `initialize`, as sent."""
    login_methods: tuple[str, ...] = ()
    login_asked: str | None = None
    """The login that it asked for instead of opening a session."""
    models: Models = Models()
    modes: tuple[str, ...] = ()
    captured: Captured = Captured()
    hosts: Hosts = Hosts()
    quirks: tuple[str, ...] = ()
    """What its users should know of, a sentence each."""
    memory_mb: float | None = None
    """The most that its processes held at once; None: it could not be seen."""

    def shown(self) -> Shown:
        """Return what the tier depends on."""
        return Shown(
            verdicts={step.name: step.verdict for step in self.steps},
            details={step.name: step.detail for step in self.steps},
            captured=self.captured.main,
            login=self.login_asked,
        )


def read_evidence(path: Path) -> Evidence:
    """Read an evidence file. Raises InputError, naming the file, the key and the remedy."""
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError) as exc:
        raise InputError(
            f"{path}: cannot be read as evidence ({exc}); measure again with `benchflow register`"
        ) from exc
    if not isinstance(data, dict):
        raise InputError(f"{path}: is no evidence: it should be one JSON object; measure again")
    if data.get("schema_version") != SCHEMA:
        raise InputError(f"{path}: `schema_version` is {data.get('schema_version')!r}, not {SCHEMA}; measure again")
    return parse(Evidence, data, path)


def write_evidence(path: Path, evidence: Evidence) -> None:
    """Write it, whole or not at all, in a form that diffs well."""
    text = json.dumps(evidence.model_dump(mode="json"), indent=2, ensure_ascii=False)
    draft = path.with_name(path.name + ".draft")
    draft.write_text(text + "\n")
    os.replace(draft, path)


def measure(
    declared: Declared, digest: str, version: str | None, places: Iterable[Path]
) -> tuple[Measurement, tuple[str, ...]]:
    """Return the tier of an agent by the newest of the evidence files that exist, and what is wrong with any of them.

    Evidence of another manifest digest, or another declared version, is stale: it is shown, but counts for nothing.
    """
    found: list[Evidence] = []
    problems: list[str] = []
    for place in places:
        if place.is_file():
            try:
                found.append(read_evidence(place))
            except InputError as error:
                problems.append(str(error))
    if not found:
        return UNMEASURED, tuple(problems)
    fresh = [evidence for evidence in found if _stale(evidence, digest, version) is None]
    newest = max(fresh or found, key=lambda evidence: evidence.measured)
    return measured_by(newest, declared, digest, version), tuple(problems)


def measured_by(evidence: Evidence, declared: Declared, digest: str, version: str | None) -> Measurement:
    """Return the tier of an agent by one piece of evidence."""
    stale = _stale(evidence, digest, version)
    tier, reason = tier_of(declared, evidence.shown()) if stale is None else (UNMEASURED.tier, stale)
    return Measurement(
        tier=tier,
        reason=reason,
        measured=evidence.measured[:10],
        agent_version=evidence.agent_version or evidence.declared_version,
        where=f"{evidence.machine.system}, {evidence.machine.sandbox}",
        stale=stale,
    )


def _stale(evidence: Evidence, digest: str, version: str | None) -> str | None:
    if evidence.declared_version != version:
        return f"measured at version {evidence.declared_version}, and the manifest now installs {version}"
    if evidence.manifest_digest != digest:
        return "measured before its manifest, or a file beside it, was changed"
    return None
