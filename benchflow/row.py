"""The profile row: the one-line record of a trial, and its JSON."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from benchflow.contracts import (
    CompletionReason,
    CostBreakdown,
    ExchangeCounts,
    LimitHit,
    ScorerCheckResult,
    TimingBreakdown,
    TokenBreakdown,
    ToolCallBreakdown,
)
from benchflow.errors import ErrorCode, InputError
from benchflow.redact import Redactor

METRICS = "metrics"
"""Where, among a row's extensions, what plugged-in collectors measured stands: by name, with value, unit and source."""
MEASURED = "measured"
"""Where what the built-in collectors measured stands, in the same form: apart, for there is much of it."""
ANALYSES = "analyses"
"""Where what analyzers found stands, by analyzer. In a run's rows the built-in ones have but their summary."""
PLUGIN_ERRORS = "plugin_errors"
"""Where it stands which of both failed, and how."""


@dataclass(frozen=True, kw_only=True)
class ProfileRow:
    """How one trial ended. Written as one line of `rows.jsonl`, snake_case."""

    run_id: str
    trial: str
    """The trial's key, which names its folder."""
    tries: int
    agent: str
    agent_version: str | None
    """What the agent said of itself in `initialize`; None if it did not."""
    agent_digest: str
    """SHA-256 of the manifest and the files beside it."""
    model: str
    """The model that was asked for and enforced."""
    model_served: str | None
    """What the upstream said that it served, in the last main exchange."""
    upstream: str
    mode: str
    scenario_id: str
    scenario_digest: str
    iteration: int
    started_at: str
    completed_at: str
    tokens: TokenBreakdown | None
    """Of all exchanges; None where nothing was metered."""
    timing: TimingBreakdown
    tool_calls: ToolCallBreakdown
    cost: CostBreakdown
    exchanges: ExchangeCounts
    success: bool | None
    """None: unscored."""
    score: float | None
    checks_passed: int
    checks_total: int
    check_details: tuple[ScorerCheckResult, ...]
    output_valid: bool
    provider: str
    session_id: str | None
    agent_turns: int
    completion_reason: CompletionReason
    stop_reason: str | None
    wrapped_up: bool
    limit: LimitHit | None
    tier: str
    isolation: str
    """`bubblewrap`, or `process`, which hides nothing from a determined agent."""
    error: str | None
    error_code: ErrorCode | None
    benchflow_version: str
    extensions: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> bytes:
        """Return the row as one line of JSON, without the newline."""
        return orjson.dumps(self, option=orjson.OPT_SERIALIZE_NUMPY)  # plugins reckon with it


def require_writable(value: Any) -> None:
    """Raise TypeError for what a plugin gave for a row and no row could be written with."""
    try:
        orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
    except orjson.JSONEncodeError as exc:
        raise TypeError(f"it cannot be written as JSON: {exc}") from exc


def without_secrets(row: ProfileRow, redactor: Redactor) -> ProfileRow:
    """Return the row as its file will have it, so that what is printed of it holds no secret either."""
    content = row.to_json()
    clean = redactor.redact(content)
    return row if clean is content else _adapter().validate_json(clean)


@cache
def _adapter() -> Any:
    from pydantic import TypeAdapter  # reading rows only: writing them needs no pydantic

    return TypeAdapter(ProfileRow)


def read_rows(path: Path) -> list[ProfileRow]:
    """Read `rows.jsonl`. A last line that was cut in mid-write is left out. Raise InputError on any other bad line."""
    return list(_parse(path, path.read_bytes()))


def parse_row(line: bytes, place: str) -> ProfileRow:
    """Read one row; `place` names it in messages. Raises InputError."""
    try:
        return _adapter().validate_json(line)
    except ValueError as exc:
        raise InputError(f"{place} is no profile row ({_reason(exc)}); restore the file or delete the line") from exc


def _reason(error: ValueError) -> str:
    """Say in one line where pydantic stumbled first, and over what."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]


def _parse(path: Path, content: bytes) -> Iterator[ProfileRow]:
    lines = content.split(b"\n")
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            yield _adapter().validate_json(line)
        except ValueError as exc:
            if number == len(lines):
                return  # the writer was killed here
            raise InputError(
                f"{path}: line {number} is no profile row ({_reason(exc)}); restore the file or delete the line"
            ) from exc
