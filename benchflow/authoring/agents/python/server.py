"""my-agent: a coding agent that serves ACP on stdin and stdout, one JSON-RPC message a line.

It asks a server of chat completions, carries out the tool calls of its answers, and tells the client what happens.
"""

import asyncio
import itertools
import json
import os
import signal
import sys
import tempfile
import uuid
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

MOST_REQUESTS = 200
COMMAND_TIMEOUT_S = 600
OUTPUT_KEPT = 30_000
LONGEST_LINE = 64 * 2**20  # prompts and answers may be long; asyncio's own limit is 64 KiB

SYSTEM = """You are a coding agent. You work in the directory {cwd}. Look before you change anything, make the \
smallest change that does the whole task, and check that it works. Then answer with a short summary."""


def function(name: str, description: str, **parameters: str) -> dict[str, Any]:
    """Describe a tool to the model; all its parameters are texts, and required."""
    properties = {key: {"type": "string", "description": text} for key, text in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TOOLS = [
    function("shell", "Run a bash command; returns its output and exit status.", command="As typed into bash."),
    function("write_file", "Write a whole text file.", path="Absolute, or relative.", content="Its whole text."),
]
KINDS = {"shell": "execute", "write_file": "edit"}
OPTIONS = [{"optionId": kind, "name": kind, "kind": kind} for kind in ("allow_once", "allow_always", "reject_once")]


def setting(name: str, default: str = "") -> str:
    """Say where the model is. BenchFlow sets the first variable, to its gateway; elsewhere the second counts."""
    return os.environ.get(f"BENCHFLOW_PROVIDER_{name}") or os.environ.get(f"OPENAI_{name}") or default


async def complete(request: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """Ask the model; yield the events of its answer as they come. Being cancelled closes the connection."""
    url = urlsplit(setting("BASE_URL", "https://api.openai.com/v1").rstrip("/") + "/chat/completions")
    tls = url.scheme == "https"
    port = url.port or (443 if tls else 80)
    reader, writer = await asyncio.open_connection(url.hostname, port, ssl=tls or None, limit=LONGEST_LINE)
    try:
        body = json.dumps({**request, "stream": True, "stream_options": {"include_usage": True}}).encode()
        head = f"POST {url.path} HTTP/1.1\r\nHost: {url.netloc}\r\nAuthorization: Bearer {setting('API_KEY')}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        status, *headers = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
        lines = unchunked(reader) if "transfer-encoding: chunked" in headers else reader
        if status.split()[1] != "200":
            said = b"".join([line async for line in lines])[:2_000]
            raise ConnectionError(f"the model's server answered {status.split()[1]}: {said.decode(errors='replace')}")
        async for line in lines:
            data = line.removeprefix(b"data:").strip()
            if line.startswith(b"data:") and data != b"[DONE]":
                yield json.loads(data)
    finally:
        writer.close()


async def unchunked(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield the lines of a chunked body; a chunk may end anywhere."""
    rest = b""
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        *lines, rest = (rest + (await reader.readexactly(size + 2))[:-2]).split(b"\n")
        for line in lines:
            yield line + b"\n"
    yield rest


class RpcError(Exception):
    """What a request is answered with instead of a result: a code and a message."""


class Session:
    """A conversation in one working directory."""

    def __init__(self, agent: "Agent", cwd: str) -> None:
        self.id = uuid.uuid4().hex
        self.model = setting("MODEL", "gpt-4.1")
        self.turn: asyncio.Task[str] | None = None
        self.usage: dict[str, int] = {}
        self._agent = agent
        self._cwd = cwd
        self._allowed: set[str] = set()
        self._shown = itertools.count(1)
        self._messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM.format(cwd=cwd)}]

    async def work(self, prompt: str) -> str:
        """Ask the model, and do as it says, until it has no more tool calls. Return ACP's stop reason."""
        self._messages.append({"role": "user", "content": prompt})
        self.usage = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
        for _ in range(MOST_REQUESTS):
            message, finish = await self._ask_model()
            self._messages.append(message)
            if "tool_calls" not in message:
                return {"length": "max_tokens", "content_filter": "refusal"}.get(finish, "end_turn")
            # Every call needs a result, also in a turn that is cancelled, or the next request would be refused.
            results = {call["id"]: "cancelled" for call in message["tool_calls"]}
            try:
                for call in message["tool_calls"]:
                    results[call["id"]] = await self._carry_out(**call["function"])
            finally:
                for id, output in results.items():
                    self._messages.append({"role": "tool", "tool_call_id": id, "content": output})
        return "max_turn_requests"

    async def _ask_model(self) -> tuple[dict[str, Any], str]:
        """Return the model's answer as a message, and why it ended; tell of it as it comes."""
        text, calls, finish = "", dict[int, dict[str, str]](), ""
        async for event in complete({"model": self.model, "messages": self._messages, "tools": TOOLS}):
            if error := event.get("error"):
                raise ConnectionError(f"the model's server failed: {error}")
            self._count(event.get("usage") or {})
            for choice in event.get("choices") or ():
                delta = choice.get("delta") or {}
                if thought := delta.get("reasoning_content") or delta.get("reasoning"):
                    self._tell("agent_thought_chunk", content={"type": "text", "text": thought})
                if piece := delta.get("content"):
                    text += piece
                    self._tell("agent_message_chunk", content={"type": "text", "text": piece})
                for part in delta.get("tool_calls") or ():  # the pieces of one call have the same index
                    call = calls.setdefault(part.get("index", 0), {"id": "", "name": "", "arguments": ""})
                    call["id"] = call["id"] or part.get("id") or f"call-{uuid.uuid4().hex}"
                    for key in ("name", "arguments"):
                        call[key] += (part.get("function") or {}).get(key) or ""
                finish = choice.get("finish_reason") or finish
        if not finish:
            raise ConnectionError("the model's answer was cut")
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if calls:
            made = [(call.pop("id"), call) for _, call in sorted(calls.items())]
            message["tool_calls"] = [{"id": id, "type": "function", "function": call} for id, call in made]
        return message, finish

    def _count(self, usage: dict[str, Any]) -> None:
        self.usage["inputTokens"] += usage.get("prompt_tokens") or 0
        self.usage["outputTokens"] += usage.get("completion_tokens") or 0
        self.usage["totalTokens"] = self.usage["inputTokens"] + self.usage["outputTokens"]

    async def _carry_out(self, name: str, arguments: str) -> str:
        """Do what a tool call says, and tell of it; return what the model is told."""
        try:
            given, output = json.loads(arguments or "{}"), "cancelled"
        except ValueError as error:
            given, output = arguments, f"error: the arguments are no JSON: {error}"
        # The model's own ids need not be unique in a session; those of ACP must be.
        call = {"toolCallId": f"{next(self._shown)}-{name}", "kind": KINDS.get(name, "other"), "status": "pending"}
        call |= {"title": f"{name} {arguments}"[:200], "rawInput": {"name": name, "arguments": given}}
        self._tell("tool_call", **call)
        done = False
        try:
            if isinstance(given, dict):
                done, output = await self._run(name, given, call)
        finally:  # also when cancelled: a call that was begun is ended
            content = [{"type": "content", "content": {"type": "text", "text": output}}]
            status = "completed" if done else "failed"
            self._tell("tool_call_update", toolCallId=call["toolCallId"], status=status, content=content)
        return output

    async def _run(self, name: str, arguments: dict[str, Any], call: dict[str, Any]) -> tuple[bool, str]:
        """Return whether it went well, and the output."""
        tool = {"shell": self._shell, "write_file": self._write_file}.get(name)
        if tool is None:
            return False, f"error: there is no tool {name!r}"
        if not await self._permitted(name, call):
            return False, "error: the user did not allow this call"
        self._tell("tool_call_update", toolCallId=call["toolCallId"], status="in_progress")
        try:
            return await tool(**arguments)
        except (OSError, TypeError, ValueError) as error:
            return False, f"error: {error}"

    async def _permitted(self, name: str, call: dict[str, Any]) -> bool:
        """Ask the client, before anything is changed. What cannot be asked is not allowed."""
        if name in self._allowed:
            return True
        params = {"sessionId": self.id, "toolCall": call, "options": OPTIONS}
        outcome = (await self._agent.ask("session/request_permission", params)).get("outcome") or {}
        if outcome.get("outcome") == "cancelled":
            raise asyncio.CancelledError
        if outcome.get("optionId") == "allow_always":
            self._allowed.add(name)
        return outcome.get("optionId") in ("allow_once", "allow_always")

    async def _shell(self, command: str) -> tuple[bool, str]:
        # Output goes to a file: the end of a pipe would come only when all that was left running has closed it.
        # stdin is closed, or the command would eat the client's messages.
        with tempfile.TemporaryFile() as output:
            process = await asyncio.create_subprocess_exec(
                *("bash", "-c", command), cwd=self._cwd, stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True,
            )  # fmt: skip
            try:
                ended = f"exit status {await asyncio.wait_for(process.wait(), COMMAND_TIMEOUT_S)}"
            except TimeoutError:
                ended = f"killed after {COMMAND_TIMEOUT_S} s"
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)  # with all that it started
            output.seek(0)
            text = output.read().decode(errors="replace")
        if len(text) > OUTPUT_KEPT:
            text = f"{text[: OUTPUT_KEPT // 2]}\n[…]\n{text[-OUTPUT_KEPT // 2 :]}"
        return process.returncode == 0, f"{text}\n[{ended}]".lstrip("\n")

    async def _write_file(self, path: str, content: str) -> tuple[bool, str]:
        target = os.path.join(self._cwd, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "w", encoding="utf-8", errors="replace") as file:
            file.write(content)
        return True, f"wrote {path}"

    def _tell(self, update: str, /, **fields: Any) -> None:
        params = {"sessionId": self.id, "update": {"sessionUpdate": update, **fields}}
        self._agent.send(method="session/update", params=params)


class Agent:
    """Answers the client's requests, and asks it some."""

    def __init__(self) -> None:
        # stdout is the protocol's alone: from here on, whatever else is printed goes to stderr.
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self._ids = itertools.count()
        self._asked: dict[Any, asyncio.Future[dict[str, Any]]] = {}
        self._sessions: dict[str, Session] = {}

    def send(self, **message: Any) -> None:
        """Write one message. JSON escapes line ends, so it is one line; it is flushed at once."""
        self._out.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._out.flush()

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Ask the client; the answer comes between other messages, and is known by its id. An error is an empty one."""
        id = next(self._ids)
        answer = self._asked[id] = asyncio.get_running_loop().create_future()
        self.send(id=id, method=method, params=params)
        return await answer

    async def handle(self, message: dict[str, Any]) -> None:
        """Answer one message of the client's."""
        if "method" not in message:  # it is an answer itself
            asked = self._asked.pop(message.get("id"), None)
            if asked is not None and not asked.done():
                asked.set_result(message.get("result") or {})
            return
        try:
            reply = {"result": await self._do(message["method"], message.get("params") or {})}
        except RpcError as error:
            reply = {"error": dict(zip(("code", "message"), error.args, strict=True))}
        except Exception as error:  # what has failed is an error, and no turn that ended
            reply = {"error": {"code": -32603, "message": f"{type(error).__name__}: {error}"}}
        if "id" in message:  # a message without one is a notification, and never answered
            self.send(id=message["id"], **reply)

    async def _do(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        match method:
            case "initialize":  # the answer names the version that is spoken here, whichever was asked for
                info = {"name": "my-agent", "title": "my-agent", "version": "0.1.0"}
                return {"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": info, "authMethods": []}
            case "session/new":
                session = Session(self, params["cwd"])
                self._sessions[session.id] = session
                models = [{"modelId": session.model, "name": session.model}]
                return {"sessionId": session.id, "models": {"availableModels": models, "currentModelId": session.model}}
            case "session/set_model":
                self._session(params).model = params["modelId"]
                return {}
            case "session/prompt":
                return await self._prompt(self._session(params), params["prompt"])
            case "session/cancel":
                if turn := self._session(params).turn:
                    turn.cancel()
                return {}
        raise RpcError(-32601, f"there is no method {method}")

    def _session(self, params: dict[str, Any]) -> Session:
        if params.get("sessionId") not in self._sessions:
            raise RpcError(-32602, f"there is no session {params.get('sessionId')!r}")
        return self._sessions[params["sessionId"]]

    async def _prompt(self, session: Session, blocks: list[dict[str, Any]]) -> dict[str, Any]:
        """Work on a prompt, of texts and links."""
        if session.turn is not None:
            raise RpcError(-32600, "this session still works on a prompt")
        text = "\n\n".join(block.get("text") or block.get("uri") or "" for block in blocks)
        session.turn = asyncio.create_task(session.work(text))
        try:
            stop_reason = await session.turn
        except asyncio.CancelledError:
            stop_reason = "cancelled"  # no error: the client asked for it
        finally:
            session.turn = None
        return {"stopReason": stop_reason, "usage": session.usage}


async def main() -> None:
    """Serve until stdin is closed; leaving cancels what is under way."""
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    agent, tasks = Agent(), set[asyncio.Task[None]]()
    async for line in reader:
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            agent.send(id=None, error={"code": -32700, "message": "no JSON-RPC message"})
            continue
        # Nothing is waited for here: the next line may be a cancel, or the answer that a turn needs.
        tasks.add(task := asyncio.create_task(agent.handle(message)))
        task.add_done_callback(tasks.discard)


if __name__ == "__main__":
    asyncio.run(main())
