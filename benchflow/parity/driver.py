"""The smallest ACP exchange there is, with an agent's process: a client that shares nothing with BenchFlow's own.

Requests go out one at a time; while an answer is waited for, whatever the agent asks is answered: permissions are
given, anything else is not known.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import orjson
from anyio.abc import Process

from benchflow import __version__
from benchflow.clock import Clock
from benchflow.errors import TrialError
from benchflow.log import LogFile

BLOCK = 1 << 16
CLIENT = {"name": "benchflow", "title": "BenchFlow", "version": __version__}
"""What the client calls itself: the same as inside, because agents tell it to their providers and models; like the
prompt, it is given to the agent and not made by it.
"""
AUTH_REQUIRED = -32000
_NOT_FOUND = -32601


class Refused(Exception):
    """The agent answered a request with an error."""

    def __init__(self, method: str, error: Any) -> None:
        code = error.get("code") if isinstance(error, dict) else None
        self.code = code if isinstance(code, int) else None
        super().__init__(f"{method}: {orjson.dumps(error).decode()}")


class Driver:
    """A conversation with one agent over the pipes of its process."""

    def __init__(self, process: Process, log: LogFile, clock: Clock) -> None:
        self.texts: list[str] = []
        """What the agent has said in messages."""
        self._process = process
        self._log = log
        self._clock = clock
        self._buffer = bytearray()
        self._lines: list[bytes] = []
        self._asked = 0
        self._logged = 0

    async def initialize(self, timeout_s: float) -> dict[str, Any]:
        """Agree on the protocol. No capability is offered: none is needed."""
        offered = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        params = {"protocolVersion": 1, "clientCapabilities": offered, "clientInfo": CLIENT}
        return _table(await self.ask("initialize", params, timeout_s))

    async def new_session(self, cwd: str, timeout_s: float) -> dict[str, Any]:
        """Open a session; its id is in the answer."""
        return _table(await self.ask("session/new", {"cwd": cwd, "mcpServers": []}, timeout_s))

    async def prompt(self, session: str, text: str, timeout_s: float | None) -> None:
        """Send a prompt, and wait for the end of its turn."""
        prompt = [{"type": "text", "text": text}]
        await self.ask("session/prompt", {"sessionId": session, "prompt": prompt}, timeout_s)

    async def ask(self, method: str, params: Mapping[str, Any], timeout_s: float | None) -> Any:
        """Make a request and return its result.

        Raises Refused for an error, and TrialError where the agent has gone (`launch`) or does not answer (`protocol`).
        """
        self._asked += 1
        number = self._asked
        try:
            with anyio.fail_after(timeout_s):
                await self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
                while True:
                    message = await self._next()
                    if message.get("id") == number and "method" not in message:
                        break
                    await self._serve(message)
        except TimeoutError:
            raise TrialError("protocol", f"{method}: no answer in {timeout_s:g} s") from None
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise TrialError("launch", f"{method}: the agent ended without an answer") from None
        if "error" in message:
            raise Refused(method, message["error"])
        return message.get("result")

    async def _serve(self, message: Mapping[str, Any]) -> None:
        """Take what the agent says or asks by itself."""
        method, params = message.get("method"), _table(message.get("params"))
        if "id" not in message:
            if method == "session/update":
                self._note(_table(params.get("update")))
            return
        answer: dict[str, Any] = {"error": {"code": _NOT_FOUND, "message": f"{method} is not served"}}
        if method == "session/request_permission":
            answer = {"result": allow(params.get("options"))}
        await self._send({"jsonrpc": "2.0", "id": message["id"], **answer})

    def _note(self, update: Mapping[str, Any]) -> None:
        text = _table(update.get("content")).get("text")
        if update.get("sessionUpdate") == "agent_message_chunk" and isinstance(text, str):
            self.texts.append(text)

    async def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._write("out", {"frame": message})
        await self._process.stdin.send(orjson.dumps(message) + b"\n")

    async def _next(self) -> dict[str, Any]:
        """Return the agent's next message. What is none is noted and passed over."""
        while True:
            while not self._lines:
                await self._read()
            line = self._lines.pop(0)
            try:
                message = orjson.loads(line)
            except ValueError:
                message = None
            if isinstance(message, dict):
                self._write("in", {"frame": message})
                return message
            if line.strip():
                self._write("in", {"noise": line.decode(errors="replace")})

    async def _read(self) -> None:
        assert self._process.stdout is not None
        self._buffer += await self._process.stdout.receive(BLOCK)
        *lines, rest = self._buffer.split(b"\n") if b"\n" in self._buffer else [self._buffer]
        self._lines += map(bytes, lines)
        self._buffer = bytearray(rest)

    def _write(self, direction: str, content: Mapping[str, Any]) -> None:
        stamp = self._clock.now()
        entry = {"seq": self._logged, "ts": stamp.ts, "mono_ms": stamp.mono_ms, "dir": direction, **content}
        self._logged += 1
        self._log.write(orjson.dumps(entry) + b"\n")


def allow(options: Any) -> dict[str, Any]:
    """Answer a permission request with an option that allows it, for this once where there is the choice."""
    listed = [option for option in options if isinstance(option, dict)] if isinstance(options, list) else []
    for kind in ("allow_once", "allow_always"):
        for option in listed:
            if option.get("kind") == kind:
                return {"outcome": {"outcome": "selected", "optionId": option.get("optionId")}}
    return {"outcome": {"outcome": "cancelled"}}


def model_requests(
    session: Mapping[str, Any], session_id: str, names: Sequence[str]
) -> list[tuple[str, dict[str, Any]]]:
    """Return the requests by which a session lets its model be chosen, of which the first that is taken is enough.

    `names` are those by which the model may be known, the best first. What has that model already ends the list.
    """
    found: list[tuple[str, dict[str, Any]]] = []
    for option in session.get("configOptions") or ():
        if isinstance(option, dict) and option.get("category") == "model":
            value = _offered(_values(option.get("options")), names)
            if value == option.get("currentValue"):
                return found
            params = {"sessionId": session_id, "configId": option.get("id"), "value": value}
            found.append(("session/set_config_option", params))
    models = session.get("models")
    if isinstance(models, dict):
        offered = {str(model.get("modelId")): str(model.get("name")) for model in models.get("availableModels") or ()}
        value = _offered(offered, names)
        if value == models.get("currentModelId"):
            return found
        found.append(("session/set_model", {"sessionId": session_id, "modelId": value}))
    return found


def _values(options: Any) -> dict[str, str]:
    """Return the values of a select option, which may be in groups, each with the name shown for it."""
    found: dict[str, str] = {}
    for option in options if isinstance(options, list) else ():
        if isinstance(option, dict) and isinstance(option.get("value"), str):
            found[option["value"]] = str(option.get("name"))
        elif isinstance(option, dict):
            found |= _values(option.get("options"))
    return found


def _offered(values: Mapping[str, str], names: Sequence[str]) -> str:
    for value, shown in values.items():
        if names[0] in (value, shown):
            return value
    for value in values:
        if value == names[-1] or value.endswith(f"/{names[-1]}"):
            return value
    return names[0]


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
