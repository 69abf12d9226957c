"""What a user asked for: one value, before anything is looked up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from benchflow.contracts import Limits
from benchflow.errors import InputError
from benchflow.gateway.wrapping.limits import Pace
from benchflow.gateway.wrapping.retrying import Retries
from benchflow.judging.choice import ScorerChoice
from benchflow.mode import BASELINE_NAME
from benchflow.runner.gate import Gate, allowed_unscored
from benchflow.runner.plugged import PluginNames
from benchflow.runner.stage import Keep

if TYPE_CHECKING:
    from benchflow.gateway.wrapping.fault_plan import FaultPlan


MOST_REPETITIONS = 50
"""How often a cell is repeated at most where nobody says."""


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """The options of one run. Their meanings stand in `benchflow run --help`."""

    agents: tuple[str, ...]
    """Names or paths; empty where `command` or `provider` stands instead."""
    scenarios: tuple[str, ...]
    command: str | None = None
    repetitions: int = 1
    """With `until_ci`, the least number of them."""
    until_ci: float | None = None
    """Repeat until the rate of success is known within so much either way; None: a fixed number of times."""
    max_repetitions: int | None = None
    """The greatest number of them; None: `MOST_REPETITIONS`. It goes with `until_ci`."""
    concurrency: int = 1
    models: tuple[str, ...] = ()
    """Empty: the oracle plays, or whatever `upstream` says."""
    modes: tuple[str, ...] = (BASELINE_NAME,)
    modes_file: Path | None = None
    """None: `modes.toml` in this folder, if there is one."""
    canary: bool = False
    """Warm each arm up before its trials, which do not begin where that fails."""
    provider: str | None = None
    """A provider of the user's, in the place of `agents`: its entry point's name, or `module:attribute`."""
    plugins: PluginNames = field(default_factory=PluginNames)
    upstream: str | None = None
    strict_model: bool = False
    own_backend: bool = False
    """The agent runs on its own backend, not through the gateway."""
    require_capture: bool | None = None
    """None: where the manifest declares `api_protocol`."""
    sandbox: Literal["auto", "bubblewrap", "process"] = "auto"
    timeout_s: float | None = None
    """None: the scenario's."""
    limits: Limits = field(default_factory=Limits)
    """The other budgets of each trial. None: the scenario's."""
    max_cost_usd: float | None = None
    """Of the whole run: what it has cost when no further trial begins."""
    tags: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    out: Path = Path("runs")
    keep: Keep = "failed"
    reinstall: bool = False
    record: Path | None = None
    """The cassette to write; None: none."""
    replay: Path | None = None
    """The cassette to play; None: none."""
    prices: Path | None = None
    """None: the file that the environment names, if it does."""
    agents_dir: Path | None = None
    pace: Pace = field(default_factory=Pace)
    retries: Retries = field(default_factory=Retries)
    faults: "FaultPlan | None" = None
    scoring: ScorerChoice = field(default_factory=ScorerChoice)
    gate: Gate = field(default_factory=Gate)
    options: Mapping[str, Any] = field(default_factory=dict)
    """What was said of all this, by the options' names: what a run that is resumed begins from. Empty: nobody said it
    by options, and the run cannot be resumed."""

    def __post_init__(self) -> None:
        allowed_unscored(self.gate.max_unscored, 1)
        if self.until_ci is None and self.max_repetitions is not None:
            raise InputError("--max-repetitions: says how far --until-ci may go; give that, too, or only -n")
        if self.most_repetitions < self.repetitions:
            raise InputError(
                f"--max-repetitions {self.most_repetitions}: is less than -n {self.repetitions}, the least number of "
                "repetitions; raise it, or lower -n"
            )
        _refuse_doubles("the agent", self.agents)
        _refuse_doubles("--model", self.models)
        _refuse_doubles("--mode", self.modes)
        if self.own_backend and not self.provider:
            self.require_no_gateway("--own-backend", "none of the agent's model calls come to the gateway")
        if self.replay and (self.models or self.upstream):
            raise InputError("--replay: the cassette says which model answers; leave out --model and --upstream")
        answered = self.models or self.upstream or self.replay or self.own_backend or self.provider
        if (self.gate.fail_under is not None or self.gate.fail_on_regression) and not answered:
            option = "--fail-under" if self.gate.fail_under is not None else "--fail-on-regression"
            raise InputError(
                f"{option}: no model was named, so the oracle would play and the gate would judge nothing; "
                "name one with --model, or say --upstream oracle if that is what you want"
            )

    @property
    def most_repetitions(self) -> int:
        """How often each cell runs at most."""
        return self.repetitions if self.until_ci is None else self.max_repetitions or MOST_REPETITIONS

    def require_no_gateway(self, option: str, reason: str) -> None:
        """Refuse what only the gateway could do. Raises InputError."""
        asked = {
            "--upstream": self.upstream,
            "--strict-model": self.strict_model,
            "--require-capture": self.require_capture,
            "--record": self.record,
            "--replay": self.replay,
            "--faults": self.faults,
            "--own-backend": self.provider and self.own_backend,
        }
        if refused := [name for name, value in asked.items() if value]:
            raise InputError(f"{option}: {reason}; leave out {', '.join(refused)}")


def _refuse_doubles(what: str, names: Sequence[str]) -> None:
    for name in names:
        if not name.strip():
            raise InputError(f"{what}: one of the names is empty; write a,b without a comma too many")
        if names.count(name) > 1:
            raise InputError(f"{what} {name}: is named twice; name it once, and repeat trials with --repetitions")
