"""Answers the agent's requests: each gets exactly one answer, with its own id, in whatever type it came."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import orjson

from benchflow.session.background import Background
from benchflow.session.rpc import (
    CANCELLED,
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    RpcError,
    encode_error,
    encode_result,
)

Handler = Callable[[Any], Any]
"""Takes the params; returns the result, or a coroutine of it where it has to wait. Raises RpcError to refuse."""

_MAX_WAITING = 1_000
"""How many requests of an agent may be under way at once."""


class Serving:
    """Looks up the handler of a request, runs it, and sends what it returns."""

    def __init__(self, handlers: Mapping[str, Handler], send: Callable[[bytes], None], background: Background) -> None:
        self._handlers = handlers
        self._send = send
        self._background = background
        self._waiting: dict[bytes, asyncio.Task[None]] = {}

    def request(self, request_id: Any, method: Any, params: Any) -> None:
        """Answer a request, at once if its handler needs not wait."""
        try:
            handler = self._handlers.get(method) if isinstance(method, str) else None
            if handler is None:
                raise RpcError(METHOD_NOT_FOUND, "Method not found", {"method": method})
            result = handler(params)
            if asyncio.iscoroutine(result):
                self._start(request_id, result)
            else:
                self._send(encode_result(request_id, result))
        except RpcError as error:
            self._send(encode_error(request_id, error))

    def cancel(self, params: Any) -> None:
        """Follow `$/cancel_request`. A request that is already answered, or was never made, is left alone."""
        if isinstance(params, dict):
            task = self._waiting.get(orjson.dumps(params.get("requestId")))
            if task:
                task.cancel()

    def _start(self, request_id: Any, result: Coroutine[Any, Any, Any]) -> None:
        if len(self._waiting) >= _MAX_WAITING:
            result.close()
            raise RpcError(INTERNAL_ERROR, f"{_MAX_WAITING} requests are already under way")
        key = orjson.dumps(request_id)
        task = self._background.start(self._answer(request_id, result))
        self._waiting[key] = task
        task.add_done_callback(lambda _: self._waiting.pop(key, None))

    async def _answer(self, request_id: Any, result: Coroutine[Any, Any, Any]) -> None:
        try:
            self._send(encode_result(request_id, await result))
        except RpcError as error:
            self._send(encode_error(request_id, error))
        except asyncio.CancelledError:
            self._send(encode_error(request_id, RpcError(CANCELLED, "Request cancelled")))
            raise
