"""One arm of a run, looked up: an agent with a model in a mode, and what its trials on all scenarios share."""

from dataclasses import dataclass

from benchflow.contracts import Limits
from benchflow.gateway.upstreams.opening import OpenedUpstream
from benchflow.hosting.backend import OwnBackend
from benchflow.manifest import Manifest
from benchflow.mode import Mode
from benchflow.runner.plan import ArmName, Cell
from benchflow.runner.plugged import PluggedAgent
from benchflow.sandbox.interface import Isolation
from benchflow.scenario import Scenario


@dataclass(frozen=True, kw_only=True)
class Arm:
    """What is compared with the other arms of its run."""

    agent: Manifest | PluggedAgent
    upstream: OpenedUpstream
    """Arms whose upstreams have the same label share what is behind it."""
    upstream_label: str
    """The upstream's name and settings, with the faults that are played on it."""
    mode: Mode
    require_capture: bool
    """A trial without a captured exchange is an error."""
    backend: OwnBackend | None = None
    """The agent's own, on which it runs; None: through the gateway."""

    @property
    def name(self) -> ArmName:
        return ArmName(
            agent=self.agent.label, model=self.upstream.model, upstream=self.upstream_label, mode=self.mode.name
        )

    def cell(self, scenario: Scenario, limits: Limits, isolation: Isolation) -> Cell:
        """Return the arm's cell on a scenario."""
        return Cell(
            agent=self.agent,
            model=self.upstream.model,
            upstream=self.upstream_label,
            mode=self.mode,
            scenario=scenario,
            limits=limits,
            sandbox=isolation,
            own_backend=self.backend is not None,
        )
