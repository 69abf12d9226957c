"""Why a conversation with an agent ended, in words that a user can act on. Pure."""

import signal

_SHELL_SAYS = {126: "the command cannot be executed", 127: "command not found"}
_TAIL_LINES = 12
_TAIL_CHARS = 1_500


def describe_exit(status: int) -> str:
    """Say how a process ended: its exit status, or minus the number of a signal."""
    if status < 0:
        try:
            return f"was ended by {signal.Signals(-status).name}"
        except ValueError:
            return f"was ended by signal {-status}"
    hint = _SHELL_SAYS.get(status)
    return f"exited with status {status}" + (f" ({hint})" if hint else "")


def describe_end(what: str, stderr: str) -> str:
    """Put what happened and the end of the agent's stderr into one message."""
    tail = "\n".join(stderr.rstrip().splitlines()[-_TAIL_LINES:])[-_TAIL_CHARS:].strip()
    return f"the agent {what}; its stderr ends:\n{tail}" if tail else f"the agent {what}; its stderr is empty"
