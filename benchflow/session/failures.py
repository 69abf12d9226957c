"""What goes wrong between client and agent, as the one kind of error that a trial knows. Pure."""

from benchflow.errors import ErrorCode, TrialError
from benchflow.session.ending import describe_end
from benchflow.session.rpc import AUTH_REQUIRED, INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, PeerGone, RpcError

_PROTOCOL_ERRORS = (PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS)


def no_answer(method: str, timeout_s: float, code: ErrorCode, stderr: str) -> TrialError:
    return TrialError(code, describe_end(f"gave no answer to {method} within {timeout_s:g} s", stderr))


def refused(method: str, error: RpcError, code: ErrorCode) -> TrialError:
    return TrialError(code, f"the agent answered {method} with an error: {error}")


def prompt_refused(error: RpcError) -> TrialError:
    """An error response to a prompt: the agent wants to be authenticated, did not understand us, or gave up."""
    if error.code == AUTH_REQUIRED:
        return refused("session/prompt", error, "auth")
    return refused("session/prompt", error, "protocol" if error.code in _PROTOCOL_ERRORS else "crash")


def gone(method: str, error: PeerGone, stage: ErrorCode, *, heard: bool, prompted: bool) -> TrialError:
    """The conversation ended before an answer. `stage` is the code of what was under way before any prompt."""
    if prompted:
        code: ErrorCode = "crash" if error.kind == "exit" else "protocol"
    else:
        code = stage if heard else "launch"
    return TrialError(code, f"before it answered {method}, {error}")
