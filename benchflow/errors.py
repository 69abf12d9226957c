"""Every exception that BenchFlow raises on purpose. Anything else that escapes is a bug and ends with its traceback."""

from typing import Literal

ErrorCode = Literal[
    "cancelled",
    "sandbox",
    "upstream",
    "capture",
    "install",
    "launch",
    "handshake",
    "auth",
    "model",
    "setup",
    "scorer",
    "crash",
    "protocol",
    "rejected",
]
"""Why a trial ended in `error`. The last three are the agent's own doing, and scored; the others leave it unscored."""

SCORED_CODES: frozenset[ErrorCode] = frozenset({"crash", "protocol", "rejected"})
"""The codes of an agent's own failure after its first prompt: what is there is scored."""


class BenchFlowError(Exception):
    """Base of all errors raised on purpose."""


class InputError(BenchFlowError):
    """Something that the user can fix. The command line prints the message and exits with 2.

    The message names the thing, what is wrong with it, and what to do: `acp/x/manifest.toml: ...`.
    """


class TrialError(BenchFlowError):
    """A trial ended abnormally; it becomes a row, never a crash of the run."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code: ErrorCode = code


def first_cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first cause in a group: the others are of the tasks that ended with it."""
    error = group.exceptions[0]
    return first_cause(error) if isinstance(error, BaseExceptionGroup) else error
