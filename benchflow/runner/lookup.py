"""From what a user asked for to what will run. What can be wrong with it is found here, before anything starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchflow.contracts import Limits
from benchflow.gateway.prices import find_own_prices
from benchflow.gateway.upstreams.opening import GENERIC_PROVIDER, OpenedUpstream, open_upstream
from benchflow.hosting.backend import OWN_BACKEND, OWN_CHOICE, NoUpstream, OwnBackend, read_backend, require_gateway
from benchflow.hosting.launch import required_values
from benchflow.machine.home import Home
from benchflow.manifest import Manifest
from benchflow.manifests.unregistered import manifest_of_command
from benchflow.registry import Registry
from benchflow.runner.plan import Cell, Trial, make_plan
from benchflow.runner.request import RunRequest
from benchflow.sandbox.interface import Isolation
from benchflow.scenario import Scenario, find_scenarios

if TYPE_CHECKING:
    from benchflow.gateway.own_prices import OwnPrices


@dataclass(frozen=True, kw_only=True)
class Job:
    """What a request comes to on this machine."""

    request: RunRequest
    home: Home
    environ: Mapping[str, str]
    agent: Manifest
    scenarios: Sequence[Scenario]
    upstream: OpenedUpstream
    secrets: Sequence[str]
    """What must not be in any file of the run."""
    prices: "OwnPrices | None" = None
    backend: OwnBackend | None = None
    """The agent's own, on which it runs; None: through the gateway."""

    @property
    def require_capture(self) -> bool:
        """Whether a trial without a captured exchange is an error."""
        if self.backend:
            return False
        asked = self.request.require_capture
        return self.agent.api_protocol is not None if asked is None else asked

    @property
    def upstream_label(self) -> str:
        """The upstream's name and settings, with the faults that are played on it."""
        faults = self.request.faults
        return f"{self.upstream.label} with faults {faults.text}" if faults else self.upstream.label

    def plan(self, isolation: Isolation) -> list[Trial]:
        """Return the trials, in order."""
        return make_plan([self._cell(scenario, isolation) for scenario in self.scenarios], self.request.repetitions)

    def _cell(self, scenario: Scenario, isolation: Isolation) -> Cell:
        timeout_s = self.request.timeout_s
        return Cell(
            agent=self.agent,
            model=self.upstream.model,
            upstream=self.upstream_label,
            mode="baseline",
            scenario=scenario,
            limits=scenario.budget if timeout_s is None else Limits(timeout_s=timeout_s),
            sandbox=isolation,
            own_backend=self.backend is not None,
        )


def look_up(request: RunRequest, environ: Mapping[str, str]) -> Job:
    """Find the agent, the scenarios and the upstream. Raises InputError for whatever is not there or not right."""
    agent = _find_agent(request, environ)
    scenarios = find_scenarios(request.scenarios, tags=request.tags, exclude=request.exclude)
    backend = read_backend(agent, environ, model=request.model) if request.own_backend else None
    if backend is None:
        require_gateway(agent)
    own = list(required_values(backend.manifest if backend else agent, environ).values())
    if backend:
        own += backend.secrets()
        upstream = _no_upstream(backend)
    else:
        upstream = _open_upstream(request, agent, scenarios, environ, own)
    if request.record:
        from benchflow.gateway.cassettes.writer import refuse_existing

        refuse_existing(request.record)
    return Job(
        request=request,
        home=Home.find(environ),
        environ=environ,
        agent=agent,
        scenarios=scenarios,
        upstream=upstream,
        secrets=[*own, *upstream.secrets],
        prices=find_own_prices(request.prices, environ),
        backend=backend,
    )


def _open_upstream(
    request: RunRequest, agent: Manifest, scenarios: Sequence[Scenario], environ: Mapping[str, str], own: Sequence[str]
) -> OpenedUpstream:
    if request.replay:
        from benchflow.runner.tape import open_replay

        return open_replay(request.replay, agent, scenarios, request.repetitions, own)
    return open_upstream(request.upstream, request.model, environ, default_model=agent.default_model)


def _no_upstream(backend: OwnBackend) -> OpenedUpstream:
    asked = f"it is asked to take the model {backend.model}" if backend.model else "it chooses its model itself"
    return OpenedUpstream(
        upstream=NoUpstream(),
        model=backend.model or OWN_CHOICE,
        label=OWN_BACKEND,
        provider=GENERIC_PROVIDER,
        note=f"own backend: the agent's model calls are not captured, and its model is not enforced; {asked}",
    )


def _find_agent(request: RunRequest, environ: Mapping[str, str]) -> Manifest:
    if request.command is not None:
        return manifest_of_command(request.command, cwd=Path.cwd(), environ=environ)
    return Registry.open(agents_dir=request.agents_dir, environ=environ).find(request.agents[0])
