"""The one interface behind which every process of a trial is started: agents, installs, solutions and checks.

A sandbox knows nothing of agents or scenarios: it is given argv, an environment, folders and sockets.
"""

import socket
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

Isolation = Literal["bubblewrap", "process"]
Network = Literal["gateway", "hosts", "open", "none"]
"""What the process can reach: the gateway's sockets alone, a list of hosts through ours, everything, nothing."""


@dataclass(frozen=True, kw_only=True)
class Folders:
    """The writable folders of one process, on the host. The caller makes and removes them."""

    workspace: Path
    home: Path
    """HOME. Never below `tmp`."""
    tmp: Path


@dataclass(frozen=True, kw_only=True)
class Inside:
    """The same folders as the process sees them."""

    workspace: str
    home: str
    tmp: str


@dataclass(frozen=True, kw_only=True)
class Bind:
    """A host folder or file shown inside."""

    source: Path
    target: str | None = None
    """None: at the same absolute path as outside."""
    writable: bool = False


@dataclass(frozen=True, kw_only=True)
class SocketSpec:
    """A listening (TCP) or bound (UDP) socket on the loopback that the process sees, served from outside."""

    kind: Literal["tcp", "udp"]
    port: int
    """The port as the process sees it."""
    bound: socket.socket | None = None
    """Already open, where the process shares the host's loopback, and closed by whoever asked for it; None: opened
    inside at start."""


@dataclass(frozen=True, kw_only=True)
class ResourceLimits:
    """rlimits, of each process by itself. None: as BenchFlow's own, above which none can be."""

    open_files: int | None = None
    processes: int | None = None
    """Counted over everything that the user runs in the same user namespace; the kernel exempts root."""
    cpu_s: int | None = None
    file_bytes: int | None = None
    address_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class LaunchSpec:
    """Everything that a sandbox needs to start one process."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    """The whole environment: nothing is inherited. PWD is added."""
    folders: Folders
    cwd: str | None = None
    """As seen inside; None: the workspace."""
    binds: tuple[Bind, ...] = ()
    covers: tuple[Path, ...] = ()
    """Host folders, and files, that must look empty inside, although a bound folder contains them. A bind from within
    one stays visible. Only bubblewrap can do it."""
    network: Network = "gateway"
    sockets: tuple[SocketSpec, ...] = ()
    limits: ResourceLimits = field(default_factory=ResourceLimits)
    stderr: int | None = None
    """A file descriptor to write stderr to; None: a stream."""


class ByteReader(Protocol):
    """The reading end of a pipe."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Blocks as they come, 64 KiB or more where there is so much, until the end or `SandboxedProcess.stop`."""
        ...


class ByteWriter(Protocol):
    """The writing end of a pipe."""

    async def send(self, data: bytes) -> None:
        """Write all of it. Raises `anyio.BrokenResourceError` when nobody reads any more."""
        ...

    async def aclose(self) -> None:
        """Send end of file."""
        ...


class SandboxedProcess(Protocol):
    """A started process and all that it starts."""

    @property
    def stdin(self) -> ByteWriter: ...

    @property
    def stdout(self) -> ByteReader: ...

    @property
    def stderr(self) -> ByteReader | None: ...

    @property
    def sockets(self) -> tuple[socket.socket, ...]:
        """The sockets of the spec, in its order, listening."""
        ...

    @property
    def isolation(self) -> Isolation: ...

    @property
    def inside(self) -> Inside: ...

    @property
    def pid(self) -> int:
        """The first process's id on the host."""
        ...

    async def exited(self) -> int:
        """Wait for the first process; return its exit status, or minus the signal that ended it."""
        ...

    async def stop(self, grace_s: float) -> None:
        """End the process and everything it started: end of file on stdin, half of `grace_s` to leave, SIGTERM, the
        other half, SIGKILL. 0: SIGKILL at once.

        What the first process leaves behind is killed when that ends, with or without `stop`. Returns when the process
        tree is empty; may be called again. Raises TrialError(`sandbox`) if something cannot be killed.
        """
        ...


class Sandbox(Protocol):
    """Starts processes. One per run; an asynchronous context manager that leaves no process behind."""

    @property
    def isolation(self) -> Isolation: ...

    def inside(self, folders: Folders) -> Inside:
        """Return how the process will see `folders`, which its environment needs before it starts."""
        ...

    def socket(self, kind: Literal["tcp", "udp"], port: int, network: Network) -> SocketSpec:
        """Reserve a socket for a coming start. `port` is the wish: where the host's loopback is shared, a port that is
        free is taken, and the spec names it.
        """
        ...

    async def start(self, spec: LaunchSpec) -> SandboxedProcess:
        """Start the process. Raises TrialError(`launch`) if it cannot be executed, TrialError(`sandbox`) if the sandbox
        itself fails.
        """
        ...

    async def __aenter__(self) -> "Sandbox": ...

    async def __aexit__(self, *exc: object) -> None: ...
