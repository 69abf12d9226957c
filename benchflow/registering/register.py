"""Installs an agent, probes it, and keeps what was measured."""

import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from benchflow.clock import Clock
from benchflow.errors import TrialError
from benchflow.evidence import Evidence, Step, StepName, measured_by, write_evidence
from benchflow.gateway.gateway import Gateway
from benchflow.gateway.upstreams.opening import GENERIC_PROVIDER, PLAYED_MODEL
from benchflow.hosting.backend import read_backend
from benchflow.hosting.equipment import Equipment
from benchflow.hosting.launch import required_values
from benchflow.install import ensure_installed
from benchflow.machine.home import Home
from benchflow.machine.scratch import scratch_folder
from benchflow.manifest import Manifest
from benchflow.probe.probe import not_installed, probe
from benchflow.probe.subject import ProbeSettings
from benchflow.probe.upstream import ProbeUpstream
from benchflow.redact import Redactor
from benchflow.registering.target import Target
from benchflow.sandbox.choose import Wish, choose_sandbox
from benchflow.sandbox.interface import Network
from benchflow.sandbox.process import ProcessSandbox
from benchflow.scenario import BUNDLED, find_scenarios
from benchflow.tiers import HEIGHT, Measurement
from benchflow.workspaces.snapshot import remove_tree
from benchflow.workspaces.toolchain import Toolchains

SCENARIO = "fix-failing-test"
"""The one that the oracle plays: it reads, writes and runs."""


PROMPT_S = 60.0


@dataclass(frozen=True, kw_only=True)
class Measuring:
    """How an agent is to be measured, and who is told of it."""

    home: Home
    environ: Mapping[str, str]
    sandbox: Wish = "auto"
    network: Network = "gateway"
    own_backend: bool = False
    """On the backend of its own that it declares, instead of through the gateway."""
    timeout_s: float | None = None
    """For each request to the agent; None: what its manifest says for the handshake, and `PROMPT_S` for a prompt."""
    reinstall: bool = False
    on_begin: Callable[[StepName], None]
    on_step: Callable[[Step], None]


@dataclass(frozen=True, kw_only=True)
class Registered:
    """What became of an agent."""

    manifest: Manifest
    """As it was stored, or found."""
    evidence: Evidence
    evidence_path: Path | None
    """Where it is kept; None: it was only measured."""
    logs: Path
    """Of the probe's sessions."""

    @property
    def measurement(self) -> Measurement:
        """Its tier, by this evidence alone."""
        return measured_by(self.evidence, self.manifest.declared, self.manifest.digest, self.manifest.version)

    @property
    def called(self) -> str:
        """How the command line finds it from now on: by its name, or by the path of its manifest."""
        manifest = self.manifest
        return str(manifest.path.parent) if manifest.origin == "path" and manifest.path else manifest.label

    @property
    def exit_code(self) -> int:
        """0; 1: its measured tier is lower than the one that is claimed; 3: it could not be measured."""
        tier, claimed = self.measurement.tier, self.manifest.claimed_tier
        if tier == "unmeasured":
            return 3
        return 1 if claimed and HEIGHT[tier] < HEIGHT[claimed] else 0


async def measure(manifest: Manifest, how: Measuring) -> Evidence:
    """Install the agent and probe it. What it fails at is in the evidence. Raises InputError."""
    backend = read_backend(manifest, how.environ) if how.own_backend else None
    hosted = backend.manifest if backend else manifest
    secrets = [*required_values(hosted, how.environ).values(), *(backend.secrets() if backend else ())]
    begun = time.monotonic()
    how.on_begin("install")
    choice = await choose_sandbox(how.sandbox)
    try:
        async with ProcessSandbox() as machine:
            install = await ensure_installed(
                manifest, home=how.home, sandbox=machine, environ=how.environ, reinstall=how.reinstall
            )
    except TrialError as error:
        took_ms, isolation = (time.monotonic() - begun) * 1000, choice.sandbox.isolation
        evidence = not_installed(
            manifest, error, home=how.home.root, took_ms=took_ms, sandbox=isolation, network=how.network
        )
        for step in evidence.steps:
            how.on_step(step)
        return evidence
    scenario = find_scenarios([SCENARIO])[0]
    assert scenario.solution is not None
    upstream, clock, redactor = ProbeUpstream(scenario.solution), Clock(), Redactor(secrets)
    async with AsyncExitStack() as stack:
        sandbox = await stack.enter_async_context(choice.sandbox)
        gateway = await stack.enter_async_context(Gateway(upstream, clock=clock, redactor=redactor))
        scratch = stack.enter_context(scratch_folder(how.home, "probe"))
        equipment = Equipment(
            manifest=_hurried(hosted, how.timeout_s),
            install=install,
            sandbox=sandbox,
            gateway=gateway,
            clock=clock,
            redactor=redactor,
            environ=how.environ,
            covers=(BUNDLED,),
            provider_name=GENERIC_PROVIDER,
            network=how.network,
            backend=backend,
        )
        settings = ProbeSettings(
            equipment=equipment,
            upstream=upstream,
            scenario=scenario,
            toolchains=Toolchains(how.home),
            model=manifest.default_model or PLAYED_MODEL,
            scratch=scratch,
            logs=fresh_logs(how.home, manifest),
            timeout_s=how.timeout_s or PROMPT_S,
        )
        return await probe(settings, on_begin=how.on_begin, on_step=how.on_step)


async def register(target: Target, how: Measuring, *, keep: bool = True, in_place: bool = False) -> Registered:
    """Measure the agent, and keep manifest and evidence: in the user's folder, or beside the manifest.

    A manifest of the registry is not copied: its evidence alone is kept. Raises InputError.
    """
    manifest = target.manifest
    evidence = await measure(manifest, how)
    place = None
    if keep:
        manifest, place = _store(target, how.home, in_place)
        place.parent.mkdir(parents=True, exist_ok=True)
        write_evidence(place, evidence)
    return Registered(manifest=manifest, evidence=evidence, evidence_path=place, logs=probe_logs(how.home, manifest))


def _hurried(manifest: Manifest, timeout_s: float | None) -> Manifest:
    """Let the user's patience be the handshake's as well."""
    if timeout_s is None:
        return manifest
    client = manifest.client.model_copy(update={"handshake_timeout_s": timeout_s})
    return manifest.model_copy(update={"client": client})


def probe_logs(home: Home, manifest: Manifest) -> Path:
    """Return where the logs of the agent's last probe are."""
    return home.probes / manifest.label.replace(":", "-")


def fresh_logs(home: Home, manifest: Manifest) -> Path:
    """Make room for the logs of a probe."""
    logs = probe_logs(home, manifest)
    if logs.exists():
        remove_tree(logs)
    logs.mkdir(parents=True)
    return logs


def _store(target: Target, home: Home, in_place: bool) -> tuple[Manifest, Path]:
    """Put the manifest where it is found from now on; return it with the place of its evidence."""
    manifest = target.manifest
    own, local = manifest.own_evidence, manifest.local_evidence or home.evidence / f"{manifest.name}.json"
    if in_place and own is not None and target.kind != "made":
        return manifest, own
    if target.kind == "known" or manifest.source is not None:
        return manifest, local
    folder = home.agents / manifest.name
    draft = folder.with_name(f".{manifest.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    manifest.copy_into(draft)
    if folder.exists():
        remove_tree(folder)
    os.replace(draft, folder)
    return manifest.model_copy(update={"path": folder / "manifest.toml", "origin": "user"}), folder / "evidence.json"
