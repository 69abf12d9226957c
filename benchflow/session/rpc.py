"""JSON-RPC 2.0 as ACP uses it: error codes, encoding, and how a peer's failure is told to whoever waits for it."""

from typing import Any, Literal

import orjson

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
CANCELLED = -32800
AUTH_REQUIRED = -32000
NOT_FOUND = -32002


class RpcError(Exception):
    """An error response: one that the agent sent, or one that it is to get."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        said = f"{self.message} ({self.code})"
        return f"{said}: {_short(self.data)}" if self.data not in (None, {}, "") else said

    @classmethod
    def read(cls, error: Any) -> "RpcError":
        """Read the `error` member of a response, whatever it holds."""
        if not isinstance(error, dict):
            return cls(INTERNAL_ERROR, _short(error))
        code = error.get("code")
        message = error.get("message")
        return cls(
            code if isinstance(code, int) else INTERNAL_ERROR,
            message if isinstance(message, str) and message else "no message",
            error.get("data"),
        )


class PeerGone(Exception):
    """The agent can no longer be talked to. The text is the cause, with the end of its stderr."""

    def __init__(self, kind: Literal["exit", "protocol"], cause: str) -> None:
        super().__init__(cause)
        self.kind: Literal["exit", "protocol"] = kind


def encode_request(request_id: int, method: str, params: Any) -> bytes:
    return _encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})


def encode_notification(method: str, params: Any) -> bytes:
    return _encode({"jsonrpc": "2.0", "method": method, "params": params})


def encode_result(request_id: Any, result: Any) -> bytes:
    return _encode({"jsonrpc": "2.0", "id": request_id, "result": result})


def encode_error(request_id: Any, error: RpcError) -> bytes:
    body = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    return _encode({"jsonrpc": "2.0", "id": request_id, "error": body})


def _encode(message: Any) -> bytes:
    """Encode in one line of UTF-8: JSON escapes every newline within."""
    return orjson.dumps(message)


def _short(value: Any, limit: int = 500) -> str:
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return text if len(text) <= limit else text[:limit] + "…"
