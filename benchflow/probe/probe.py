"""Drives an agent through all steps, each with its verdict, and makes the evidence of what they saw."""

import platform
import shutil
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import anyio

from benchflow import __version__
from benchflow.errors import TrialError
from benchflow.evidence import Captured, Evidence, Hosts, Machine, Models, Step, StepName
from benchflow.gateway.dialects.table import DIALECTS
from benchflow.gateway.message import Exchange
from benchflow.install import Install
from benchflow.manifest import Manifest
from benchflow.network.border import names_are_seen, what_was_watched
from benchflow.probe import opening, working
from benchflow.probe.remedies import REMEDIES
from benchflow.probe.seen import Seen, failed
from benchflow.probe.subject import ProbeSettings, Subject
from benchflow.redact import Redactor
from benchflow.session.agentinfo import PROTOCOL_VERSION, AgentInfo
from benchflow.session.model import find_offers

Document = TypeVar("Document", Step, Evidence)
OnStep = Callable[[Step], None]
OnBegin = Callable[[StepName], None]
Doing = Callable[[Subject], Awaitable[Seen]]

STEPS: tuple[tuple[StepName, Doing], ...] = (
    ("initialize", opening.initialize),
    ("session", opening.session),
    ("model", opening.model),
    ("scenario", working.scenario),
    ("second_prompt", working.second_prompt),
    ("cancel", working.cancel),
    ("permission", working.permission),
    ("upstream_401", working.upstream_401),
    ("shutdown", working.shutdown),
)
NEEDED: frozenset[StepName] = frozenset({"initialize", "session", "model", "scenario"})
"""Where one of these fails there is nothing to be learned from those that follow."""
SPARE_S = 30.0
"""How much longer than its prompts a step may take."""


async def probe(settings: ProbeSettings, *, on_begin: OnBegin, on_step: OnStep) -> Evidence:
    """Drive the installed agent through all steps. Its failures are verdicts; nothing of it is left running."""
    tasks = anyio.create_task_group()
    prober = _Prober(Subject(settings, tasks), on_begin, on_step)
    async with tasks:
        try:
            await prober.run()
        finally:
            await prober.subject.stop()
            tasks.cancel_scope.cancel()
    return prober.evidence()


def not_installed(
    manifest: Manifest, error: TrialError, *, home: Path, took_ms: float, sandbox: str, network: str
) -> Evidence:
    """Return the evidence of an agent that could not be installed. `home` is BenchFlow's own folder."""
    detail = without_places(str(error), {home: "$BENCHFLOW_HOME"})
    remedy = "look at the install's log; correct `install_cmd`, or name the runtime that it needs in [runtimes]"
    step = Step(name="install", verdict="fail", took_ms=round(took_ms, 1), detail=detail, remedy=remedy)
    after = [_skipped(name, "install") for name, _ in STEPS]
    return Evidence(
        agent=manifest.name,
        manifest_digest=manifest.digest,
        declared_version=manifest.version,
        benchflow_version=__version__,
        measured=_now(),
        machine=_machine(sandbox),
        network=network,
        steps=(step, *after),
    )


class _Prober:
    """One probe under way: the steps so far, and what they left to be known."""

    def __init__(self, subject: Subject, on_begin: OnBegin, on_step: OnStep) -> None:
        self.subject = subject
        self._on_begin = on_begin
        self._on_step = on_step
        self._steps: list[Step] = []
        self._quirks: list[str] = []
        self._captured = Captured()
        self._login: str | None = None
        self._stopped_by: StepName | None = None
        """The step after whose failure there is nothing more to be learned."""

    async def run(self) -> None:
        """Do all steps, in their order."""
        self._add(_installed(self.subject.settings.equipment.install))
        for name, doing in STEPS:
            if self._stopped_by and not (name == "shutdown" and self.subject.session):
                self._add(_skipped(name, self._stopped_by))
                continue
            self._on_begin(name)
            begun = time.monotonic()
            seen = await self._see(name, doing)
            self._quirks += seen.quirks
            self._add(
                Step(
                    name=name,
                    verdict=seen.verdict,
                    took_ms=round((time.monotonic() - begun) * 1000, 1),
                    detail=seen.detail,
                    remedy=seen.remedy,
                    facts=dict(seen.facts),
                )
            )
            if seen.verdict == "fail" and name in NEEDED:
                self._stopped_by = name
            if name == "scenario" and self.subject.session:
                self._captured = self._capture()

    def _add(self, step: Step) -> None:
        """Tell of a step, and keep it. What is kept says nothing of where on this machine the agent lives."""
        settings = self.subject.settings
        step = without_secrets(step, settings.equipment.redactor)
        self._on_step(step)
        places = {settings.equipment.install.folder: "$BENCHFLOW_AGENT_DIR", settings.scratch: "$SCRATCH"}
        self._steps.append(step.model_copy(update={"detail": without_places(step.detail, places)}))

    async def _see(self, name: StepName, doing: Doing) -> Seen:
        """Do one step, in a session that can be used. What the agent fails at is a verdict."""
        settings = self.subject.settings
        deadline_s = settings.equipment.manifest.client.handshake_timeout_s + 2 * settings.timeout_s + SPARE_S
        try:
            with anyio.fail_after(deadline_s):
                if self.subject.session is None and name != "initialize":
                    await self.subject.open_again()
                seen = await doing(self.subject)
        except TimeoutError:
            seen = failed(f"did not come to an end in {deadline_s:g} s", spoiled=True)
        except TrialError as error:
            if error.code == "auth":
                self._login = self._logins() or str(error)
            seen = failed(str(error), REMEDIES.get(error.code), spoiled=True, code=error.code)
        if seen.spoiled and name != "shutdown":
            await self.subject.stop()
        return seen

    def _logins(self) -> str:
        info = self.subject.info
        return ", ".join(f"{method.name} ({method.id})" for method in info.auth_methods) if info else ""

    def _capture(self) -> Captured:
        """Say what was captured of the scenario: the step's own facts, and what the session showed."""
        exchanges = self.subject.exchanges
        facts = self._steps[-1].facts
        asked = sorted({exchange.model_asked for exchange in exchanges if exchange.model_asked})
        others = [model for model in asked if model != self.subject.settings.model]
        if others and not any(quirk.startswith("It asks for ") for quirk in self._quirks):
            self._quirks.append(f"It asks for other models beside its work: {', '.join(others)}.")
        if facts.get("auxiliary"):
            self._quirks.append("It makes model calls beside its work.")
        return Captured(
            dialect=_dialect_of(exchanges),
            main=facts.get("main", 0),
            auxiliary=facts.get("auxiliary", 0),
            subagent=facts.get("subagent", 0),
            models_asked=tuple(asked),
            models_enforced=sum(any(change.kind == "model" for change in exchange.changes) for exchange in exchanges),
            updates=dict(sorted(self.subject.updates().items())),
        )

    def evidence(self) -> Evidence:
        """Return all that was measured."""
        subject, settings = self.subject, self.subject.settings
        kit = settings.equipment
        info = subject.info or AgentInfo(name=None, title=None, version=None)
        opened = subject.opened.raw if subject.opened else {}
        offers = find_offers(opened)
        ways = next((step.facts.get("ways", {}) for step in self._steps if step.name == "model"), {})
        found = Evidence(
            agent=kit.manifest.name,
            manifest_digest=kit.manifest.digest,
            declared_version=kit.manifest.version,
            agent_name=info.name,
            agent_version=info.version,
            protocol_version=PROTOCOL_VERSION if subject.info else None,
            benchflow_version=__version__,
            measured=_now(),
            machine=_machine(kit.sandbox.isolation, kit.install.path_entries, kit.manifest.runtimes.model_dump()),
            network=settings.network,
            steps=tuple(self._steps),
            capabilities=dict(info.capabilities),
            login_methods=tuple(method.id for method in info.auth_methods),
            login_asked=self._login,
            models=Models(offered=tuple(value for offer in offers for value in offer.values), ways=ways),
            modes=_modes(opened),
            captured=self._captured,
            hosts=Hosts(
                looked_up=tuple(sorted(subject.tried)),
                complete=names_are_seen(kit.sandbox.isolation, settings.network),
                note=what_was_watched(kit.sandbox.isolation, settings.network),
            ),
            quirks=tuple(dict.fromkeys(self._quirks)),
            memory_mb=subject.memory.peak_mb if subject.memory else None,
        )
        return without_secrets(found, kit.redactor)


def without_secrets(document: Document, redactor: Redactor) -> Document:
    """Return it without the secrets that the agent was given, and may have said of itself or on its stderr."""
    content = document.model_dump_json().encode()
    clean = redactor.redact(content)
    return document if clean is content else type(document).model_validate_json(clean)


def without_places(text: str, places: Mapping[Path, str]) -> str:
    """Replace folders of this machine by words; the user's own last, for others lie below it."""
    for folder, word in {**places, Path.home(): "~"}.items():
        if folder != Path(folder.anchor):
            text = text.replace(str(folder), word)
    return text


def _dialect_of(exchanges: Sequence[Exchange]) -> str | None:
    """Return the dialect that the main requests spoke; None: there were none."""
    for exchange in exchanges:
        for dialect in DIALECTS.values() if exchange.role == "main" else ():
            route = dialect.route("POST", exchange.path)
            if route is not None and route.kind == "generate":
                return dialect.name
    return None


def _installed(install: Install) -> Step:
    how = "was installed already" if install.cached else "was installed"
    detail = f"{how}; it took {install.seconds:.1f} s"
    return Step(name="install", verdict="pass", took_ms=round(install.seconds * 1000, 1), detail=detail)


def _skipped(name: StepName, after: StepName) -> Step:
    return Step(name=name, verdict="skipped", took_ms=0.0, detail=f"not reached: {after} failed")


def _modes(opened: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids of the session's modes."""
    modes = opened.get("modes")
    listed = modes.get("availableModes") if isinstance(modes, dict) else None
    ids = [mode.get("id") for mode in listed if isinstance(mode, dict)] if isinstance(listed, list) else []
    return tuple(str(mode_id) for mode_id in ids)


def _machine(sandbox: str, path: Sequence[str] = (), runtimes: Mapping[str, str | None] | None = None) -> Machine:
    wanted = [name for name, constraint in (runtimes or {}).items() if constraint]
    versions = {name: version for name in wanted if (version := _version(name, path))}
    return Machine(
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        sandbox=sandbox,
        runtimes=versions,
    )


def _version(runtime: str, path: Sequence[str]) -> str | None:
    """Ask the runtime that the agent is run with for its version."""
    program = shutil.which("python3" if runtime == "python" else runtime, path=":".join(path))
    if program is None:
        return None
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    return said.strip().removeprefix("Python ").removeprefix("v") or None


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
