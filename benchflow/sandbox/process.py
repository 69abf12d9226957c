"""The sandbox that works everywhere: a clean environment and a tree that can be ended, but nothing is hidden.

Paths, network and users are the host's. Network modes are therefore not enforced, nor is anything covered. Only Linux
lets a supervisor adopt orphans: on macOS a daemon that leaves its parent and its process group stays alive.
"""

from __future__ import annotations

from typing import Literal

from benchflow.sandbox import loopback
from benchflow.sandbox.client import Helper, LaunchFailed
from benchflow.sandbox.interface import Folders, Inside, Isolation, LaunchSpec, Network, SandboxedProcess, SocketSpec
from benchflow.sandbox.plan import launch_error, make_plan


class ProcessSandbox:
    """Starts processes in sessions of their own, each under a supervisor that ends all that it started."""

    isolation: Isolation = "process"

    def __init__(self, helper: Helper | None = None) -> None:
        self._helper = helper or Helper()

    async def __aenter__(self) -> ProcessSandbox:
        self._helper.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._helper.aclose()

    def inside(self, folders: Folders) -> Inside:
        """Return the folders' own paths: nothing is moved."""
        return Inside(workspace=str(folders.workspace), home=str(folders.home), tmp=str(folders.tmp))

    def socket(self, kind: Literal["tcp", "udp"], port: int, network: Network) -> SocketSpec:
        """Open a socket on the host's loopback, at `port` if that is free. Whoever asks closes it."""
        return loopback.reserve(kind, port)

    async def start(self, spec: LaunchSpec) -> SandboxedProcess:
        """Start the process. Every socket of the spec must be open already, as those of `socket` are."""
        sockets = loopback.opened(spec)
        inside = self.inside(spec.folders)
        plan = make_plan(spec, spec.cwd or inside.workspace)
        try:
            child = await self._helper.launch(plan, spec, self.isolation, inside)
        except LaunchFailed as failure:
            raise launch_error(failure.report) from None
        child.sockets = sockets
        return child
