"""mini's two tools: a shell, and a writer of files."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

DEFAULT_TIMEOUT_S = 120
_LONGEST_TIMEOUT_S = 1_800
OUTPUT_HEAD = 10_000
OUTPUT_TAIL = 20_000
"""Bytes of a command's output that are kept from its beginning and from its end."""
_DRAIN_S = 0.5
"""How long output may still come after a command has ended, from what it left behind."""

DEFINITIONS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "shell",
            "description": "Run a bash command in the working directory, and return its output and exit status.",
            "parameters": {
                "type": "object",
                "properties": {
                    "command": {"type": "string", "description": "The command, as one would type it into bash."},
                    "timeout_s": {
                        "type": "integer",
                        "description": f"Seconds after which it is killed; {DEFAULT_TIMEOUT_S} unless given.",
                    },
                },
                "required": ["command"],
                "additionalProperties": False,
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "write_file",
            "description": "Write a text file, replacing it if it exists; folders are made as needed.",
            "parameters": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "Absolute, or relative to the working directory."},
                    "content": {"type": "string", "description": "The whole text of the file."},
                },
                "required": ["path", "content"],
                "additionalProperties": False,
            },
        },
    },
]


class ToolError(Exception):
    """A call that cannot be carried out; the message goes to the model."""


@dataclass(frozen=True, kw_only=True)
class Shell:
    command: str
    timeout_s: float
    kind: Literal["execute"] = "execute"

    @property
    def title(self) -> str:
        return self.command.strip().split("\n")[0][:200] or "shell"

    async def run(self, cwd: Path) -> "ToolOutput":
        """Run the command in a process group of its own; being cancelled kills all of it."""
        output = BoundedOutput()
        async with _pipe() as (reader, writer):
            process = await asyncio.create_subprocess_exec(
                "bash",
                "-c",
                self.command,
                cwd=cwd,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=writer,
                stderr=writer,
                start_new_session=True,
            )
            os.close(writer)
            reading = asyncio.create_task(output.read(reader))
            try:
                async with asyncio.timeout(self.timeout_s):
                    status = await process.wait()
                await asyncio.wait([reading], timeout=_DRAIN_S)
            except TimeoutError:
                status = None
            finally:
                if process.returncode is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    await asyncio.shield(process.wait())
                reading.cancel()
        end = f"[killed after {self.timeout_s:g} s]" if status is None else f"[exit status {status}]"
        return ToolOutput(text=f"{output.text()}\n{end}".lstrip("\n"), failed=status != 0)


@dataclass(frozen=True, kw_only=True)
class WriteFile:
    path: str
    content: str
    kind: Literal["edit"] = "edit"

    @property
    def title(self) -> str:
        return f"Write {self.path}"

    async def run(self, cwd: Path) -> "ToolOutput":
        """Write the file. Raises ToolError."""
        target = cwd / self.path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(self.content, encoding="utf-8", errors="replace")
        except (OSError, ValueError) as exc:
            raise ToolError(f"cannot write {self.path}: {exc}") from exc
        return ToolOutput(text=f"wrote {len(self.content.encode('utf-8', 'replace')):,} bytes to {self.path}")


@dataclass(frozen=True, kw_only=True)
class ToolOutput:
    text: str
    failed: bool = False


class BoundedOutput:
    """Keeps the beginning and the end of what a command prints, however much that is."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0

    async def read(self, stream: asyncio.StreamReader) -> None:
        """Read to the end."""
        while block := await stream.read(65_536):
            self.add(block)

    def add(self, block: bytes) -> None:
        """Take more output."""
        self._size += len(block)
        room = OUTPUT_HEAD - len(self._head)
        self._head += block[:room]
        self._tail += block[room:]
        del self._tail[:-OUTPUT_TAIL]

    def text(self) -> str:
        """Return what was kept, and say what was not."""
        left_out = self._size - len(self._head) - len(self._tail)
        middle = f"\n[{left_out:,} bytes left out]\n".encode() if left_out else b""
        return (bytes(self._head) + middle + bytes(self._tail)).decode("utf-8", "replace").rstrip("\n")


def read_call(name: str, arguments: str) -> Shell | WriteFile:
    """Understand a model's tool call. Raises ToolError saying what is wrong with it."""
    try:
        given = json.loads(arguments or "{}")
    except ValueError as exc:
        raise ToolError(f"the arguments are not valid JSON: {exc}") from exc
    if not isinstance(given, dict):
        raise ToolError("the arguments are no JSON object")
    match name:
        case "shell":
            timeout_s = given.get("timeout_s", DEFAULT_TIMEOUT_S)
            if not isinstance(timeout_s, int | float) or isinstance(timeout_s, bool) or timeout_s <= 0:
                raise ToolError("timeout_s must be a number of seconds above 0")
            return Shell(command=_text(given, "command"), timeout_s=min(timeout_s, _LONGEST_TIMEOUT_S))
        case "write_file":
            return WriteFile(path=_text(given, "path"), content=_text(given, "content"))
    raise ToolError(f"there is no tool {name!r}; there are shell and write_file")


def _text(given: dict[str, Any], key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str):
        raise ToolError(f"{key} must be a text")
    return value


@asynccontextmanager
async def _pipe() -> AsyncIterator[tuple[asyncio.StreamReader, int]]:
    """Give a pipe: its reading end, and the descriptor to write to, which the caller closes.

    A pipe of asyncio's own would make waiting for a command wait for everything that holds its output open.
    """
    incoming, outgoing = os.pipe()
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(incoming, "rb")
    )
    try:
        yield reader, outgoing
    finally:
        transport.close()
