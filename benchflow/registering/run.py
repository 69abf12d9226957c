"""From the command line's wish to measured agents: looks up, measures, and cleans up after itself."""

import os
import sys
import tempfile
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import anyio

from benchflow.errors import InputError, first_cause
from benchflow.evidence import Step, StepName
from benchflow.machine.home import Home
from benchflow.manifest import Manifest
from benchflow.registering.every import Outcome, register_every
from benchflow.registering.register import Measuring, Registered, register
from benchflow.registering.target import Wish, find_target
from benchflow.registry import Registry
from benchflow.report.terminal import say
from benchflow.runner.interrupt import EXIT_CODE, interruptible
from benchflow.sandbox.choose import Wish as SandboxWish
from benchflow.sandbox.interface import Network

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class RegisterRequest:
    """What a user asks `benchflow register` for."""

    wish: Wish = field(default_factory=Wish)
    keep: bool = True
    in_place: bool = False
    network: Network = "gateway"
    own_backend: bool = False
    sandbox: SandboxWish = "auto"
    timeout_s: float | None = None
    reinstall: bool = False
    at_once: int = 2


class Watcher(Protocol):
    """Is told of the steps as they go."""

    def began(self, name: StepName) -> None: ...

    def ended(self, step: Step) -> None: ...


def run_one(request: RegisterRequest, watcher: Watcher, environ: Mapping[str, str] = os.environ) -> Registered:
    """Register one agent. Raises InputError; ends the program where it is interrupted."""
    home = Home.find(environ)
    home.scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="register-", dir=home.scratch) as staging:
        target = find_target(request.wish, Path(staging), environ)
        for warning in target.manifest.warnings:
            say(f"warning: {warning}")
        how = _how(request, home, environ, on_begin=watcher.began, on_step=watcher.ended)
        return _run(register(target, how, keep=request.keep, in_place=request.in_place))


def run_every(request: RegisterRequest, environ: Mapping[str, str] = os.environ) -> list[Outcome]:
    """Measure all agents of the registry that can be run. Raises InputError."""
    wish = request.wish
    if wish.target or wish.source or wish.command:
        raise InputError("--all measures every agent of the registry; name none beside it")
    listing = Registry.open(agents_dir=wish.agents_dir, environ=environ).listing()
    manifests = [agent for agent in listing.agents if isinstance(agent, Manifest)]
    how = _how(request, Home.find(environ), environ, on_begin=lambda _: None, on_step=lambda _: None)

    def ended(outcome: Outcome) -> None:
        tier = outcome.registered.measurement.tier if outcome.registered else f"not tried: {outcome.error}"
        say(f"{outcome.manifest.name}: {tier}")

    return _run(
        register_every(
            manifests, how, at_once=request.at_once, keep=request.keep, in_place=request.in_place, on_end=ended
        )
    )


def _how(
    request: RegisterRequest,
    home: Home,
    environ: Mapping[str, str],
    *,
    on_begin: Callable[[StepName], None],
    on_step: Callable[[Step], None],
) -> Measuring:
    return Measuring(
        home=home,
        environ=environ,
        sandbox=request.sandbox,
        network=request.network,
        own_backend=request.own_backend,
        timeout_s=request.timeout_s,
        reinstall=request.reinstall,
        on_begin=on_begin,
        on_step=on_step,
    )


def _run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run it to its end; ctrl-C ends the agent first, and then the program."""
    results: list[Result] = []

    async def whole() -> None:
        async with interruptible():
            results.append(await work)

    try:
        anyio.run(whole)
    except BaseExceptionGroup as group:
        raise first_cause(group) from group
    if not results:
        say("interrupted; nothing was stored")
        sys.exit(EXIT_CODE)
    return results[0]
