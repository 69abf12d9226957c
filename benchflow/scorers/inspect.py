"""Judges the checks that need no process: files in the workspace, what the agent said, which tools it called."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from benchflow.checks import (
    Check,
    FileContains,
    FileEquals,
    FileExists,
    JsonPath,
    OutputContains,
    OutputMatches,
    ToolNotUsed,
    ToolUsed,
    Unchanged,
    query_parts,
)
from benchflow.contracts import ScorerCheckResult, ScorerContext, SessionTrace
from benchflow.trajectories.cutting import until_limit
from benchflow.workspaces.workspace import Workspace

ACTUAL_KEPT = 4_000
"""Characters of what was found that go into a result."""

_NO_FILE = "no such file in the workspace"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was found, against what was expected."""

    passed: bool
    actual: str | None = None
    expected: str | None = None
    grade: float | None = None
    """In [0, 1], what is earned of the weight; None: all or nothing."""
    error: str | None = None
    """Why there is no verdict; the trial is then unscored."""


def as_result(check: Check, finding: Finding) -> ScorerCheckResult:
    """Return the finding as the result of its check."""
    return ScorerCheckResult(
        id=check.id,
        description=check.says(),
        passed=finding.passed,
        actual=None if finding.actual is None else finding.actual[-ACTUAL_KEPT:],
        expected=None if finding.expected is None else finding.expected[:ACTUAL_KEPT],
        error=finding.error,
        weight=check.weight,
        grade=finding.grade,
    )


def inspect(check: Check, context: ScorerContext, checks_folder: Path | None) -> Finding | None:
    """Judge a check. None: it is of a kind that this module does not know."""
    match check:
        case FileExists():
            there = context.workspace.is_file(check.path)
            return Finding(passed=there, actual=None if there else _NO_FILE, expected=f"a file {check.path}")
        case FileContains():
            return _contains(context.workspace.read_text(check.path), check.text)
        case FileEquals():
            return _equals(check, context.workspace, checks_folder)
        case JsonPath():
            return _json(check, context.workspace)
        case Unchanged():
            return _unchanged(check, context.workspace)
        case OutputContains():
            found = check.text.casefold() in context.agent_output.casefold()
            return Finding(passed=found, actual=context.agent_output, expected=f"an answer with {check.text!r}")
        case OutputMatches():
            found = re.search(check.pattern, context.agent_output, re.MULTILINE) is not None
            return Finding(passed=found, actual=context.agent_output, expected=f"an answer like /{check.pattern}/")
        case ToolUsed() | ToolNotUsed():
            return _tool(check, context.trace)
    return None


def _contains(content: str | None, text: str) -> Finding:
    if content is None:
        return Finding(passed=False, actual=_NO_FILE, expected=text)
    return Finding(passed=text in content, actual=content, expected=text)


def _equals(check: FileEquals, workspace: Workspace, checks_folder: Path | None) -> Finding:
    expected = check.text
    if check.file is not None:
        try:
            expected = ((checks_folder or Path()) / check.file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as exc:
            return Finding(passed=False, error=f"checks/{check.file} of the scenario cannot be read: {exc}")
    content = workspace.read_text(check.path)
    if content is None:
        return Finding(passed=False, actual=_NO_FILE, expected=expected)
    return Finding(passed=_plain(content) == _plain(expected or ""), actual=content, expected=expected)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").rstrip("\n")


def _json(check: JsonPath, workspace: Workspace) -> Finding:
    expected = _dump(check.equals)
    content = workspace.read_bytes(check.path)
    if content is None:
        return Finding(passed=False, actual=_NO_FILE, expected=expected)
    try:
        value: Any = orjson.loads(content)
    except orjson.JSONDecodeError as exc:
        return Finding(passed=False, actual=f"no JSON: {exc}", expected=expected)
    for part in query_parts(check.query):
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return Finding(passed=False, actual=f"nothing at {part!r}", expected=expected)
    return Finding(passed=_same_json(value, check.equals), actual=_dump(value), expected=expected)


def _same_json(left: Any, right: Any) -> bool:
    """Compare as JSON: 1 is 1.0, and true is no number."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same_json(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same_json, left, right))
    return left == right


def _dump(value: Any) -> str:
    return orjson.dumps(value, default=str).decode()


def _unchanged(check: Unchanged, workspace: Workspace) -> Finding:
    for pattern in check.paths:
        if not workspace.covers(pattern):
            return Finding(passed=False, error=f"nothing in the scenario's workspace matches {pattern!r}")
    changed = workspace.changed(check.paths)
    return Finding(passed=not changed, actual="\n".join(changed) or None, expected="no change")


def _tool(check: ToolUsed | ToolNotUsed, trace: SessionTrace | None) -> Finding:
    if trace is None:
        return Finding(passed=False, error="there is no trace to find tool calls in")
    wanted, used = check.tool.casefold(), _tools(trace)
    found = wanted in {name.casefold() for name in used}
    word = "a call" if isinstance(check, ToolUsed) else "no call"
    actual = ", ".join(sorted(used)) or "no tool call"
    return Finding(passed=found == isinstance(check, ToolUsed), actual=actual, expected=f"{word} of {check.tool}")


def _tools(trace: SessionTrace) -> set[str]:
    """Return names and kinds of all tool calls, as the gateway and as ACP know them."""
    seen = {word for turn in trace.turns for call in turn.tool_calls for word in (call.name, call.kind)}
    for event in until_limit(trace.events):
        if event.type in ("tool_call", "tool_call_update"):
            seen |= {str(event.data[key]) for key in ("name", "kind", "title") if event.data.get(key)}
    return {word for word in seen if word}
