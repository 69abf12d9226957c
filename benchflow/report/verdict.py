"""What a row says in one word, and why it is no pass. Pure."""

from dataclasses import dataclass
from typing import Literal

from benchflow.contracts import LimitHit, ScorerCheckResult
from benchflow.gateway.upstream import PLAYED
from benchflow.report.text import one_line
from benchflow.row import ProfileRow

Word = Literal["pass", "fail", "unscored"]

UNTRUSTED = (
    "Isolation `process` hides nothing from a determined agent: these scores are not tamper-proof. "
    "`benchflow doctor` says what bubblewrap needs here."
)
_REASON_LIMIT = 400


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How a trial ended, for people."""

    word: Word
    detail: str
    """What ended it where the agent did not end its turn unasked: `wrapped up`, `timeout`, `tool_limit: max_turns`, or
    the error's code."""
    reason: str | None
    """Why it is no pass; None for a pass."""

    @property
    def label(self) -> str:
        """The word, with the detail where there is one."""
        return f"{self.word} ({self.detail})" if self.detail else self.word


def is_played(upstream: str) -> bool:
    """Tell, of an upstream with its settings as rows have it, whether it answers without any model."""
    while upstream.startswith("cassette:"):  # it answers as what it was recorded from
        upstream = upstream.partition(" of ")[2]
    return upstream.partition(" ")[0].partition(":")[0] in PLAYED


def judge(row: ProfileRow) -> Verdict:
    """Read a row's verdict."""
    detail = row.error_code or _ended_by(row)
    if row.success is None:
        return Verdict(word="unscored", detail=detail, reason=_clip(row.error or detail or "no verdict"))
    if row.success:
        return Verdict(word="pass", detail=detail, reason=None)
    reasons = [*_ending(row), *_failed_checks(row)]
    return Verdict(word="fail", detail=detail, reason="; ".join(reasons) or "not every check passed")


def _ended_by(row: ProfileRow) -> str:
    if row.completion_reason == "stop":
        return "wrapped up" if row.wrapped_up else ""
    kind = row.limit.kind if row.limit and row.limit.kind != "timeout_s" else None
    return f"{row.completion_reason}: {one_line(kind)}" if kind else row.completion_reason


def _ending(row: ProfileRow) -> list[str]:
    if row.limit:
        return [describe_limit(row.limit)]
    return [_clip(row.error)] if row.error else []


def _failed_checks(row: ProfileRow) -> list[str]:
    failed = [check for check in row.check_details if not check.passed]
    if not failed:
        return []
    more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    return [describe_check(failed[0]) + more]


def describe_check(check: ScorerCheckResult) -> str:
    """Say in one line what a failed check wanted and got."""
    if check.error:
        return f"check {one_line(check.id)} could not be judged: {_clip(check.error)}"
    wanted = f" expected {one_line(check.expected, 80)}," if check.expected is not None else ""
    got = f" got {_last_line(check.actual)}" if check.actual is not None else ""
    return f"check {one_line(check.id)} failed:{wanted}{got}".rstrip(",:")


def describe_limit(limit: LimitHit) -> str:
    """Say which budget ended a prompt, or warned of its end, and what was measured."""
    unit = " s" if limit.kind.endswith("_s") else ""
    used = round(limit.used, 1) if unit else limit.used
    ended = "ended by" if limit.phase == "hard" else "warned of the end of"
    return f"{ended} {limit.kind} at {used:g}{unit}, allowed {limit.allowed:g}{unit} ({limit.counter})"


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return one_line(lines[-1], 120) if lines else "nothing"


def _clip(text: str) -> str:
    return one_line(text, _REASON_LIMIT)
