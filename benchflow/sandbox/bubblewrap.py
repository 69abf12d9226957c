"""The sandbox that hides the host: own users, processes, network and files, without a daemon or a privilege.

Network modes: `gateway` and `hosts` have a loopback of their own with nothing on it but the sockets of the spec, so
that what can be reached is decided by who serves those; `none` is the same without sockets; `open` shares the host's
network.
"""

from __future__ import annotations

import dataclasses
import shutil
from typing import Literal

from benchflow.errors import InputError, TrialError
from benchflow.sandbox import loopback
from benchflow.sandbox.child import Child
from benchflow.sandbox.client import Helper, LaunchFailed
from benchflow.sandbox.interface import (
    Folders,
    Inside,
    Isolation,
    LaunchSpec,
    Network,
    ResourceLimits,
    SandboxedProcess,
    SocketSpec,
)
from benchflow.sandbox.plan import launch_error, make_plan
from benchflow.sandbox.profile import INSIDE, HostSystem, bubblewrap_options

PROGRAM = "bwrap"
_DEFAULT_PORT = 8400
_EXPLAIN = """
case $1 in */*) file=$1 ;; *) file=$(command -v -- "$1") ;; esac
if [ ! -f "$file" ]; then
  case $1 in */*) echo "$1: does not exist inside the sandbox" ;; *) echo "$1: is not on PATH, which is $PATH" ;; esac
elif [ ! -x "$file" ]; then echo "$file: is not executable"
else
  IFS= read -r line <"$file"
  case $line in
    '#!'*) echo "$file: its interpreter ${line#??} does not exist inside the sandbox" ;;
    *) echo "$file: cannot be executed: its loader does not exist inside the sandbox" ;;
  esac
fi
"""


class BubblewrapSandbox:
    """Starts processes through bubblewrap, each in namespaces of its own."""

    isolation: Isolation = "bubblewrap"

    def __init__(self, helper: Helper | None = None, *, program: str | None = None) -> None:
        """`program`: bubblewrap's path; None: as found on PATH."""
        found = program or shutil.which(PROGRAM)
        if not found:
            raise InputError(f"bubblewrap: there is no `{PROGRAM}` on PATH: install it, or take the sandbox `process`")
        self._program = found
        self._helper = helper or Helper()
        self._system = HostSystem.read()

    async def __aenter__(self) -> BubblewrapSandbox:
        self._helper.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._helper.aclose()

    def inside(self, folders: Folders) -> Inside:
        """Return where the folders are shown: at the same places for every process."""
        return INSIDE

    def socket(self, kind: Literal["tcp", "udp"], port: int, network: Network) -> SocketSpec:
        """Name a socket to be opened inside, or, where the host's loopback is shared, open it."""
        if network == "open":
            return loopback.reserve(kind, port)
        return SocketSpec(kind=kind, port=port or _DEFAULT_PORT)

    async def start(self, spec: LaunchSpec) -> SandboxedProcess:
        """Start the process inside, its sockets listening before it runs."""
        opened = loopback.opened(spec) if spec.network == "open" else ()
        try:
            child = await self._launch(spec)
        except LaunchFailed as failure:
            if failure.report.get("stage") == "inside":
                raise await self._explain(spec) from None
            raise launch_error(failure.report) from None
        child.sockets = opened or child.sockets
        if len(child.sockets) != len(spec.sockets):  # the kernel drops descriptors that there is no room for
            await child.stop(0)
            raise TrialError("sandbox", "too many open files: raise the limit, `ulimit -n`")
        return child

    async def _launch(self, spec: LaunchSpec) -> Child:
        sockets = [] if spec.network == "open" else [(each.kind, each.port) for each in spec.sockets]
        options = bubblewrap_options(spec, self._system)
        plan = make_plan(spec, "/", {"program": self._program, "options": options, "sockets": sockets})
        return await self._helper.launch(plan, spec, self.isolation, INSIDE)

    async def _explain(self, spec: LaunchSpec) -> TrialError:
        """Find out why bubblewrap did not come to execute the program: a shell in the same sandbox looks at it.

        Bubblewrap's own words went to the program's stderr, which belongs to the caller.
        """
        argv = ("/bin/sh", "-c", _EXPLAIN, "sh", spec.argv[0])
        probe = dataclasses.replace(spec, argv=argv, sockets=(), stderr=None, limits=ResourceLimits())
        try:
            child = await self._launch(probe)
        except LaunchFailed as failure:
            return TrialError("sandbox", failure.stderr or str(failure))
        answer = b"".join([block async for block in child.stdout])
        await child.stop(0)
        return TrialError("launch", answer.decode(errors="replace").strip())
