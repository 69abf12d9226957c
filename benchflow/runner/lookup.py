"""From what a user asked for to what will run. What can be wrong with it is found here, before anything starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchflow.budgets.choosing import choose_limits, notes_of
from benchflow.contracts import Limits
from benchflow.errors import InputError
from benchflow.gateway.prices import find_own_prices
from benchflow.machine.home import Home
from benchflow.manifest import Manifest
from benchflow.manifests.unregistered import manifest_of_command
from benchflow.mode import BASELINE, BASELINE_NAME, Mode
from benchflow.registry import Registry
from benchflow.runner.arm import Arm
from benchflow.runner.arms import look_up_arms
from benchflow.runner.plan import Trial, make_plan
from benchflow.runner.plugged import PluggedAgent, Plugins, load_plugins, plug_agent
from benchflow.runner.repeating import UntilSure
from benchflow.runner.request import RunRequest
from benchflow.sandbox.interface import Isolation
from benchflow.scenario import Scenario, find_scenarios
from benchflow.scorers.choosing import Scoring, choose_scoring

if TYPE_CHECKING:
    from benchflow.gateway.own_prices import OwnPrices


@dataclass(frozen=True, kw_only=True)
class Job:
    """What a request comes to on this machine."""

    request: RunRequest
    home: Home
    environ: Mapping[str, str]
    arms: Sequence[Arm]
    scenarios: Sequence[Scenario]
    secrets: Sequence[str]
    """What must not be in any file of the run."""
    scoring: Scoring
    plugins: Plugins
    prices: "OwnPrices | None" = None

    @property
    def upstream_label(self) -> str:
        """The upstreams' names and settings, with the faults that are played on them."""
        return ", ".join(dict.fromkeys(arm.upstream_label for arm in self.arms))

    @property
    def label(self) -> str:
        """The agents' names, as one."""
        return "+".join(dict.fromkeys(arm.agent.label for arm in self.arms))

    def plan(self, isolation: Isolation) -> list[Trial]:
        """Return the trials, in order; where repetitions go on until enough is known, as many as there may be."""
        cells = [
            arm.cell(scenario, self._limits(scenario), isolation) for scenario in self.scenarios for arm in self.arms
        ]
        return make_plan(cells, self.request.most_repetitions)

    @property
    def until(self) -> UntilSure | None:
        """When an arm is repeated no more; None: it is repeated a fixed number of times."""
        request = self.request
        if request.until_ci is None:
            return None
        return UntilSure(half_width=request.until_ci, least=request.repetitions, at_once=request.concurrency)

    def _limits(self, scenario: Scenario) -> Limits:
        return choose_limits(scenario.budget, replace(self.request.limits, timeout_s=self.request.timeout_s))

    @property
    def budget_notes(self) -> Sequence[str]:
        """What a user must know of the budgets that came of the scenarios and the options."""
        return list(dict.fromkeys(note for scenario in self.scenarios for note in notes_of(self._limits(scenario))))


def look_up(request: RunRequest, environ: Mapping[str, str]) -> Job:
    """Find the agents, the scenarios and the upstreams. Raises InputError for whatever is not there or not right."""
    agents = _find_agents(request, environ)
    scenarios = find_scenarios(request.scenarios, tags=request.tags, exclude=request.exclude)
    plugins = load_plugins(request.plugins)
    scoring = choose_scoring(request.scoring, scenarios, environ, plugins.scorers)
    arms, secrets = look_up_arms(request, agents, _find_modes(request, plugins, environ), scenarios, environ)
    if request.record:
        from benchflow.gateway.cassettes.writer import refuse_existing

        refuse_existing(request.record)
    return Job(
        request=request,
        home=Home.find(environ),
        environ=environ,
        arms=arms,
        scenarios=scenarios,
        secrets=[*secrets, *scoring.secrets],
        scoring=scoring,
        plugins=plugins,
        prices=find_own_prices(request.prices, environ),
    )


def _find_modes(request: RunRequest, plugins: Plugins, environ: Mapping[str, str]) -> list[Mode]:
    if request.modes_file is None and set(request.modes) == {BASELINE_NAME}:
        return [BASELINE]
    from benchflow.runner.modes import Modes, read_modes  # most runs have none, and its models take time to build

    texts, place = read_modes(request.modes_file, request.modes)
    modes = Modes(texts=texts, place=place, resolvers=plugins.mode_resolvers, environ=environ)
    return [modes.find(name) for name in request.modes]


def _find_agents(request: RunRequest, environ: Mapping[str, str]) -> list[Manifest | PluggedAgent]:
    if request.provider is not None:
        return [plug_agent(request.provider)]
    if request.command is not None:
        return [manifest_of_command(request.command, cwd=Path.cwd(), environ=environ)]
    registry = Registry.open(agents_dir=request.agents_dir, environ=environ)
    found: dict[str, Manifest | PluggedAgent] = {}
    for name in request.agents:
        agent = registry.find(name)
        if agent.label in found:
            raise InputError(
                f"{name}: the agent {agent.label} is named twice ({found[agent.label].place}, {agent.place}), and "
                "their rows could not be told apart; leave one out"
            )
        found[agent.label] = agent
    return list(found.values())
