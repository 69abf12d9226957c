"""Whether a tool call failed, and of what type the failure is: a closed table of texts, in English. Pure."""

import re
from typing import Any, Literal

from benchflow.behaviour.purpose import Purpose
from benchflow.contracts import ToolStatus

FailureType = Literal["test_failure", "timeout", "permission", "not_found", "syntax", "network", "other"]

_READ = 4_000
"""Characters at the end of an output in which its failure is looked for."""
_CODE_KEYS = ("exit_code", "exitCode", "exit_status", "exitStatus", "exit", "returncode")
_CODE = re.compile(r"\bexit(?:ed)?(?: with)?[ _](?:code|status)\W{0,6}(\d{1,3})\b")
_CODE_WITHIN = 400


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE | re.MULTILINE)


_TYPES: tuple[tuple[FailureType, re.Pattern[str]], ...] = (
    (
        "test_failure",
        _pattern(
            r"\b[1-9]\d* (?:failed|failing|failures?)\b|\bfailures?[=:] ?[1-9]|^FAIL(?:ED)?\b|\bAssertionError\b|"
            r"test result: failed"
        ),
    ),
    ("timeout", _pattern(r"\btim(?:ed?|ing)[ -]?out\b|deadline exceeded|\bkilled after\b|\bETIMEDOUT\b")),
    (
        "permission",
        _pattern(
            r"permission denied|operation not permitted|access (?:is )?denied|read-only file system|unauthori[sz]ed|"
            r"\bforbidden\b|not allowed|\bEACCES\b|\bEPERM\b|\b(?:denied|rejected|declined) by\b|"
            r"\b(?:user|client) (?:has )?(?:denied|rejected|declined|refused)\b|\bstatus 40[13]\b"
        ),
    ),
    (
        "not_found",
        _pattern(
            r"no such file|\bnot found\b|does(?: not|n't) exist|cannot find|could not find|no module named|"
            r"\bunknown (?:command|tool)\b|there is no (?:tool|file)|\bENOENT\b|\bstatus 404\b"
        ),
    ),
    (
        "syntax",
        _pattern(
            r"\b(?:Syntax|Indentation|Tab|JSONDecode)Error\b|syntax error|\bparse error\b|invalid json|not valid JSON|"
            r"unexpected (?:token|end of|EOF|identifier)|unterminated"
        ),
    ),
    (
        "network",
        _pattern(
            r"connection (?:refused|reset|error|aborted|closed)|could(?: not|n't) resolve|name or service not known|"
            r"temporary failure in name|network is unreachable|\bECONN\w+|\bENOTFOUND\b|\bgetaddrinfo\b|"
            r"\bstatus (?:408|429|5\d\d)\b|\bno answer\b"
        ),
    ),
)
"""In the order in which they are tried."""
_BY_CODE: dict[int, FailureType] = {124: "timeout", 126: "permission", 127: "not_found"}
"""What a shell's own exit codes mean."""


def failure_of(status: ToolStatus, raw_output: Any, output: str, purpose: Purpose) -> FailureType | None:
    """Return the type of a call's failure; None: it did not fail.

    It failed if its last status is `failed`, or if its result states an exit code other than 0. Of a program that
    looks, 1 is no failure (`grep` without a match), and its text is not asked: it may be about exit codes.
    """
    code = exit_code(raw_output, output if purpose in ("run", "change") else "")
    if status != "failed" and (not code or (code == 1 and purpose == "look")):
        return None
    found = classify(output)
    return _BY_CODE.get(code or 0, found) if found == "other" else found


def classify(text: str) -> FailureType:
    """Return the first type of the table whose pattern the last 4,000 characters of a text match, in whatever case.

    In this order: test failure, timeout, permission, not found, syntax, network; else `other`.
    """
    end = text[-_READ:]
    for name, pattern in _TYPES:
        if pattern.search(end):
            return name
    return "other"


def exit_code(raw_output: Any, output: str) -> int | None:
    """Return the exit code that a result states: in a field of its own, else in the last 400 characters of its text."""
    stated = _stated(raw_output)
    if stated is not None:
        return stated
    end = output[-_CODE_WITHIN:].lower()
    written = _CODE.findall(end) if "exit" in end else None
    return int(written[-1]) if written else None


def _stated(raw_output: Any) -> int | None:
    """The exit code in a result's own field, or in that of its `metadata`."""
    if not isinstance(raw_output, dict):
        return None
    for key in _CODE_KEYS:
        if type(raw_output.get(key)) is int:  # no bool
            return raw_output[key]
    return _stated(raw_output.get("metadata"))
