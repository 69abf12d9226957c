"""The file of a run: every option of `benchflow run` by its own name, strictly.

Only what says what one call does has no key: `--config`, `--dry-run`, `--resume`, `--retry-unscored`, `--json`. Budgets
of a trial stand in `[limits]`, what a run must reach in `[gate]`, and modes in `[modes.NAME]`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Strict, Tag, model_validator

from benchflow.mode_file import ModeText, Text
from benchflow.model import Number, StrictModel, Whole, parse, wrong
from benchflow.runner.options import TABLES, Options
from benchflow.strict import read_toml

Flag = Annotated[bool, Strict()]
Names = tuple[Text, ...]
Count = Annotated[Whole, Field(ge=1)]
CountOrNone = Annotated[Whole, Field(ge=0)]
Seconds = Annotated[Number, Field(ge=0.1)]
Dollars = Annotated[Number, Field(ge=0)]
Share = Annotated[Number, Field(ge=0, le=1)]
InnerShare = Annotated[Number, Field(ge=0.001, le=0.999)]


def _kind_of_modes(given: Any) -> str:
    return "file of modes" if isinstance(given, str | Path) else "tables of modes"


Modes = Annotated[
    Annotated[dict[str, ModeText], Tag("tables of modes")] | Annotated[Path, Tag("file of modes")],
    Discriminator(_kind_of_modes),
]


class LimitsText(StrictModel):
    """`[limits]`: the budgets of each trial, in the place of the scenario's."""

    timeout: Seconds | None = None
    max_turns: Count | None = None
    grace_turns: CountOrNone | None = None
    max_subagent_turns: CountOrNone | None = None
    max_tool_calls: Count | None = None
    max_tokens: Count | None = None
    max_output_tokens: Count | None = None
    max_cost_per_trial: Dollars | None = None
    idle_timeout: Seconds | None = None
    idle_in_tools: Flag | None = None
    grace: InnerShare | None = None
    wrap_up: Literal["inject", "reprompt"] | None = None
    wrap_up_message: Text | None = None


class GateText(StrictModel):
    """`[gate]`: what a run must reach for exit code 0."""

    fail_under: Share | None = None
    fail_on_regression: Text | None = None
    margin: Share | None = None
    require_power: Share | None = None
    max_unscored: Text | None = None


class RunText(StrictModel):
    """What stands in a file for `run --config`. What is left out is as on the command line."""

    agents: Names | None = None
    scenarios: Names | None = None
    command: Text | None = None
    provider: Text | None = None
    repetitions: Count | None = None
    until_ci: Annotated[Number, Field(ge=0.01, le=0.5)] | None = None
    max_repetitions: Count | None = None
    concurrency: Count | None = None
    model: Names | None = None
    mode: Names | None = None
    modes: Modes | None = None
    """Tables, or the path of a file with such tables."""
    canary: Flag | None = None
    upstream: Text | None = None
    strict_model: Flag | None = None
    own_backend: Flag | None = None
    require_capture: Flag | None = None
    record: Path | None = None
    replay: Path | None = None
    prices: Path | None = None
    max_requests: Count | None = None
    rpm: Count | None = None
    tpm: Count | None = None
    retry_upstream: CountOrNone | None = None
    max_wait: Annotated[Number, Field(ge=0)] | None = None
    faults: Text | None = None
    sandbox: Literal["auto", "bubblewrap", "process"] | None = None
    max_cost: Dollars | None = None
    tag: Names | None = None
    exclude: Names | None = None
    out: Path | None = None
    keep: Literal["always", "failed", "never"] | None = None
    reinstall: Flag | None = None
    agents_dir: Path | None = None
    plugin: Names | None = None
    collector: Names | None = None
    analyzer: Names | None = None
    mode_resolver: Names | None = None
    hooks: Names | None = None
    scorer: Text | None = None
    judge: Text | None = None
    judge_model: Text | None = None
    judge_upstream: Text | None = None
    judge_repeats: Count | None = None
    judge_record: Path | None = None
    limits: LimitsText | None = None
    gate: GateText | None = None

    @model_validator(mode="before")
    @classmethod
    def _keys_are_in_their_tables(cls, data: Any) -> Any:
        for key in data if isinstance(data, dict) else ():
            for table, names in TABLES.items():
                if key in names:
                    raise wrong(f"key `{key}` belongs into the table `[{table}]`; write it there")
        return data


def read_config(path: Path) -> Options:
    """Read a file for `run --config`. What is relative in it is relative to its folder.

    Raises InputError that names the file, the key and the remedy.
    """
    options = dict(_flat(parse(RunText, read_toml(path), path)))
    if isinstance(options.get("modes"), Mapping):
        options["modes"] = Path(path.name)  # where the modes are read from, when it is known which are wanted
    return options


def read_modes_of(data: dict[str, Any], path: Path) -> Mapping[str, ModeText]:
    """Return the modes in the content of such a file. Raises InputError."""
    modes = parse(RunText, data, path).modes
    return modes if isinstance(modes, Mapping) else {}


def read_stored(data: dict[str, Any], place: str) -> Options:
    """Read options as run.json has them. Raises InputError."""
    return _flat(parse(RunText, data, place))


def _flat(text: RunText) -> Options:
    found: dict[str, Any] = {}
    for name in type(text).model_fields:
        value = getattr(text, name)
        within = {key: getattr(value, key) for key in type(value).model_fields} if name in TABLES and value else {}
        found |= within or {name: value}
    return {name: value for name, value in found.items() if value is not None and value != ()}
