"""Newline-delimited JSON on two byte streams, for the ACP SDK."""

import asyncio
import json
import logging
from typing import Any

FRAME_LIMIT = 64 * 2**20
"""The longest line that is read, in bytes."""

_OLDER_METHODS = {"session/set_model"}
"""Methods that the SDK no longer knows, and clients still send. Extensions, `_…`, it hands to the agent."""


class LineTransport:
    """One JSON-RPC message a line. What is no message is said on stderr and passed over."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._sending = asyncio.Lock()  # a drain must not be entered twice

    async def send(self, message: dict[str, Any]) -> None:
        """Write one message."""
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        async with self._sending:
            self._writer.write(line)
            await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None at the end."""
        while line := await self._reader.readline():
            try:
                message = json.loads(line)
            except ValueError:
                message = None
            if not isinstance(message, dict):
                logging.warning("no JSON-RPC message: %.200r", line)
                continue
            if message.get("method") in _OLDER_METHODS:
                message["method"] = f"_{message['method']}"
            return message
        return None

    async def close(self) -> None:
        """Close the writing side."""
        self._writer.close()
