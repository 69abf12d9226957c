"""Measures every agent of the registry, several at a time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import anyio

from benchflow.errors import InputError
from benchflow.evidence import Step
from benchflow.manifest import Manifest
from benchflow.registering.register import Measuring, Registered, register
from benchflow.registering.target import Target


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one agent of many."""

    manifest: Manifest
    registered: Registered | None
    error: str | None = None
    """Why it was not even tried; None: it was."""


async def register_every(
    manifests: Sequence[Manifest],
    how: Measuring,
    *,
    at_once: int,
    keep: bool,
    in_place: bool,
    on_end: Callable[[Outcome], None],
) -> list[Outcome]:
    """Measure all of them, so many at once; return what became of each, in the order given."""
    outcomes: dict[str, Outcome] = {}
    waiting = iter(manifests)

    async def work() -> None:
        for manifest in waiting:
            quiet = replace(how, on_begin=lambda _: None, on_step=_ignore)
            target = Target(manifest=manifest, kind="known")
            try:
                done = await register(target, quiet, keep=keep, in_place=in_place)
                outcome = Outcome(manifest=manifest, registered=done)
            except InputError as error:
                outcome = Outcome(manifest=manifest, registered=None, error=str(error))
            outcomes[manifest.name] = outcome
            on_end(outcome)

    async with anyio.create_task_group() as tasks:
        for _ in range(min(at_once, len(manifests))):
            tasks.start_soon(work)
    return [outcomes[manifest.name] for manifest in manifests]


def _ignore(_: Step) -> None: ...
