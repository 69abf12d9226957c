"""The cassette of a run: what `--record` writes, and whether what `--replay` plays is fit for what was asked."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchflow import __version__
from benchflow.errors import InputError
from benchflow.gateway.cassettes.cassette import Cassette, Head, read_cassette
from benchflow.gateway.cassettes.recorder import CassetteRecorder
from benchflow.gateway.cassettes.replay import Replay
from benchflow.gateway.cassettes.writer import CassetteFile
from benchflow.gateway.prices import Pricing
from benchflow.gateway.upstream import PLAYED, Upstream
from benchflow.gateway.upstreams.opening import OpenedUpstream
from benchflow.redact import Redactor
from benchflow.scenario import Scenario

if TYPE_CHECKING:
    from benchflow.manifest import Manifest
    from benchflow.runner.lookup import Job
    from benchflow.runner.plugged import PluggedAgent


def recorder(job: "Job", path: Path, redactor: Redactor) -> Callable[[Upstream], Upstream]:
    """Make the file, and return what wraps the upstream of the run's only arm.

    Raises InputError where it cannot be written.
    """
    arm = job.arms[0]
    head = Head(
        agent=arm.agent.label,
        agent_version=arm.agent.version,
        upstream=arm.upstream_label,
        model=arm.upstream.model,
        provider=arm.upstream.provider,
        scenarios={scenario.id: scenario.digest for scenario in sorted(job.scenarios, key=lambda found: found.id)},
        benchflow=__version__,
    )
    file = CassetteFile(path, head, redactor)

    def wrap(upstream: Upstream) -> Upstream:
        pricing = Pricing(provider=upstream.priced_as, own=job.prices, bought=upstream.name not in PLAYED)
        return CassetteRecorder(upstream, file, pricing=pricing, redactor=redactor)

    return wrap


def open_replay(
    path: Path,
    agent: "Manifest | PluggedAgent",
    scenarios: Sequence[Scenario],
    repetitions: int,
    secrets: Sequence[str],
) -> OpenedUpstream:
    """Open a cassette for these trials. Raises InputError where it cannot be read, or has none of one of them."""
    cassette = read_cassette(path)
    head = cassette.head
    for scenario in scenarios:
        _require(cassette, scenario.id, repetitions)
    replay = Replay(cassette, Redactor(secrets))
    return OpenedUpstream(
        upstream=replay,
        model=head.model,
        label=cassette.label,
        provider=head.provider,
        note="\n".join(_notes(cassette, agent, scenarios)) or None,
        misses=replay.misses,
    )


def _require(cassette: Cassette, scenario: str, repetitions: int) -> None:
    recorded = cassette.iterations(scenario)
    if not recorded:
        known = ", ".join(sorted({trial.scenario for trial in cassette.records})) or "none"
        raise InputError(
            f"--replay {cassette.path}: scenario {scenario!r} was not recorded; it has {known}. "
            "Record a cassette with it, or leave it out"
        )
    if repetitions > recorded:
        raise InputError(
            f"--replay {cassette.path}: {recorded} of {repetitions} repetitions of {scenario!r} were recorded; "
            f"replay with -n {recorded}, or record anew with -n {repetitions}"
        )


def _notes(cassette: Cassette, agent: "Manifest | PluggedAgent", scenarios: Sequence[Scenario]) -> Iterator[str]:
    """Say in what the recording was made otherwise: requests may then miss."""
    head, here = cassette.head, f"{cassette.path}: was recorded"
    if head.agent != agent.label:
        yield f"{here} with the agent {head.agent}; this is {agent.label}"
    elif head.agent_version != agent.version:
        yield f"{here} with {agent.label} {head.agent_version}; this is {agent.version}"
    changed = [scenario.id for scenario in scenarios if head.scenarios.get(scenario.id) != scenario.digest]
    if changed:
        yield f"{here} before these scenarios were changed: {', '.join(changed)}"
