"""Frames to events, in order: what live observers are told, and what is rebuilt later from `acp.ndjson`. One code for
both, so that they cannot differ.
"""

from typing import Any

from benchflow.session.framelog import Direction
from benchflow.session.framing import Json
from benchflow.session.rpc import RpcError
from benchflow.session.updates import (
    Event,
    prompt_text,
    prompt_usage,
    read_permission,
    read_update,
    stop_reason,
)

_QUIET = ("$/cancel_request",)


class Projection:
    """Reads frames one by one. It remembers requests until their responses, since an event may need both."""

    def __init__(self) -> None:
        self._prompts = 0
        self._ours: dict[str, Json] = {}
        self._theirs: dict[str, Json] = {}
        self._indexes: dict[str, int] = {}

    def read(self, direction: Direction, frame: Json) -> Event | None:
        """Return the event that this frame is, or completes; None for one that tells nothing new."""
        if direction == "out":
            return self._sent(frame)
        return self._received(frame)

    def _sent(self, frame: Json) -> Event | None:
        method = frame.get("method")
        if method is None:
            return self._answered(frame)
        if "id" not in frame:
            return ("notice", {"text": "the client cancels the turn"}) if method == "session/cancel" else None
        self._ours[_key(frame["id"])] = frame
        if method != "session/prompt":
            return None
        index = self._prompts
        self._prompts += 1
        self._indexes[_key(frame["id"])] = index
        return "prompt_begin", {"index": index, "text": prompt_text(frame.get("params"))}

    def _answered(self, frame: Json) -> Event | None:
        """Our answer to a request of the agent."""
        request = self._theirs.pop(_key(frame.get("id")), None)
        if request is None or request.get("method") != "session/request_permission":
            return None
        return read_permission(request.get("params"), frame.get("result"))

    def _received(self, frame: Json) -> Event | None:
        method = frame.get("method")
        params = frame.get("params")
        if method is None:
            return self._response(frame)
        if frame.get("id") is None:
            if method == "session/update":
                return read_update(params)
            return None if method in _QUIET else ("unknown", {"kind": method, "update": params})
        self._theirs[_key(frame["id"])] = frame
        if method == "session/request_permission":
            return None
        if isinstance(method, str) and method.startswith(("fs/", "terminal/")):
            return "notice", {"text": f"the agent asks its client for {method}", "method": method, "params": params}
        return "unknown", {"kind": method, "update": params}

    def _response(self, frame: Json) -> Event | None:
        """The agent's answer to a request of ours, or something that is no message at all."""
        if frame.get("id") is None:
            return "unknown", {"kind": None, "update": frame}
        request = self._ours.pop(_key(frame["id"]), None)
        if request is None:
            return "notice", {"text": f"a response to no open request (id {frame['id']})"}
        error = frame.get("error")
        if request["method"] == "session/prompt":
            return "prompt_end", self._prompt_end(_key(frame["id"]), frame.get("result"), error)
        if error is not None:
            return "error", {"message": f"{request['method']}: {RpcError.read(error)}"}
        return None

    def _prompt_end(self, key: str, result: Any, error: Any) -> dict[str, Any]:
        data: dict[str, Any] = {"index": self._indexes.pop(key), "stop_reason": stop_reason(result)}
        usage = prompt_usage(result)
        if usage is not None:
            data["usage"] = usage
        if error is not None:
            data["error"] = str(RpcError.read(error))
        return data


def _key(request_id: Any) -> str:
    """Ids may come back in another type."""
    return str(request_id)
