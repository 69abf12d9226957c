"""What a comparison is asked for, and what that comes to on this machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchflow.errors import InputError
from benchflow.gateway.neutral import RULES
from benchflow.hosting.backend import OwnBackend, read_backend
from benchflow.machine.home import Home
from benchflow.manifest import Manifest
from benchflow.model import suggest
from benchflow.parity.capture import Capture
from benchflow.parity.fixture import read_fresh
from benchflow.parity.outcome import MARGIN
from benchflow.registry import Registry
from benchflow.sandbox.choose import Wish
from benchflow.scenario import Scenario, find_scenarios

SCENARIOS = ("fix-failing-test", "rename-across-package", "reconcile-inventory")
"""Compared where the user names none: real work in code over one and over many files, and data over two prompts."""
ALONE = 2
"""The least number of runs alone: fewer show no noise."""


@dataclass(frozen=True, kw_only=True)
class ParityRequest:
    """What a user asks `benchflow parity` for. The meanings stand in its `--help`."""

    agent: str
    scenarios: tuple[str, ...] = ()
    repeat: int = 1
    without: tuple[str, ...] = ()
    margin: float = MARGIN
    sandbox: Wish = "auto"
    timeout_s: float | None = None
    agents_dir: Path | None = None
    against_fixture: bool = False
    fixture: bool = False
    in_place: bool = False

    def __post_init__(self) -> None:
        for name in self.without:
            if name not in RULES:
                raise InputError(f"--without {name}: no such rule; {suggest(name, RULES)}")
        if self.against_fixture and self.fixture:
            raise InputError("--fixture writes what --against-fixture compares with; name one of them")
        if not 0 < self.margin <= 1:
            raise InputError(f"--margin {self.margin:g}: a difference of scores, above 0 and up to 1")

    @property
    def runs_alone(self) -> int:
        """How often the agent runs alone on each scenario."""
        return max(ALONE, self.repeat)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What a request comes to on this machine."""

    request: ParityRequest
    home: Home
    environ: Mapping[str, str]
    agent: Manifest
    scenarios: Sequence[Scenario]
    backend: OwnBackend | None
    """Its own, where its model calls are not routed."""
    fixtures: Mapping[str, Sequence[Capture]]
    """What it is compared with instead of being run alone, by the scenario's id."""

    @property
    def captured(self) -> bool:
        """Its model calls can be compared."""
        return self.backend is None and self.agent.api_protocol is not None

    @property
    def hosted(self) -> Manifest:
        """The manifest as it is run."""
        return self.backend.manifest if self.backend else self.agent

    @property
    def standard(self) -> bool:
        """What comes of it says whether parity was shown: the agent is run on both sides, and all rules apply."""
        return not self.request.without and not self.request.against_fixture


def look_up(request: ParityRequest, environ: Mapping[str, str]) -> Subject:
    """Find the agent and the scenarios. Raises InputError."""
    agent = Registry.open(agents_dir=request.agents_dir, environ=environ).find(request.agent)
    scenarios = find_scenarios(request.scenarios or SCENARIOS)
    own = agent.backend is not None and agent.api_protocol is None
    if not own and (unplayable := [scenario.id for scenario in scenarios if scenario.solution is None]):
        raise InputError(
            f"{', '.join(unplayable)}: without a [solution] there is nothing that both sides could be told"
        )
    return Subject(
        request=request,
        home=Home.find(environ),
        environ=environ,
        agent=agent,
        scenarios=scenarios,
        backend=read_backend(agent, environ) if own else None,
        fixtures={scenario.id: read_fresh(agent, scenario) for scenario in scenarios}
        if request.against_fixture
        else {},
    )
