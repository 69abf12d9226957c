"""The ACP client of a hosted agent, with what the agent's manifest has the client offer."""

from collections.abc import Callable
from typing import Any

from benchflow.clock import Stamp
from benchflow.contracts import CreateSessionParams, EventType
from benchflow.hosting.equipment import Equipment, permission_policy
from benchflow.log import LogFile
from benchflow.sandbox.interface import SandboxedProcess
from benchflow.session.files import WorkspaceFiles
from benchflow.session.session import AcpClient
from benchflow.session.terminals import StartCommand, Terminals


def make_client(
    kit: Equipment,
    params: CreateSessionParams,
    process: SandboxedProcess,
    *,
    log: LogFile,
    on_event: Callable[[EventType, dict[str, Any], Stamp], None],
    stderr_tail: Callable[[], str],
    run_command: StartCommand,
) -> AcpClient:
    """Return a client on the pipes of a launched agent. Whoever enters it leaves it."""
    offered = kit.manifest.client
    return AcpClient(
        process.stdin,
        process.stdout,
        log=log,
        clock=kit.clock,
        permissions=permission_policy(kit.manifest, params),
        on_event=on_event,
        exited=process.exited,
        stderr_tail=stderr_tail,
        files=WorkspaceFiles(params.workspace.path, process.inside.workspace) if offered.fs else None,
        terminals=Terminals(run_command) if offered.terminal else None,
    )
