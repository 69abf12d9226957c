"""What the sessions of one agent share, and how one of its processes is to be started."""

import secrets
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchflow.clock import Clock
from benchflow.contracts import CreateSessionParams, PermissionConfig
from benchflow.gateway.gateway import Gateway
from benchflow.gateway.upstream import TrialContext
from benchflow.hosting.backend import OwnBackend
from benchflow.hosting.launch import LaunchValues, agent_environment, canonical_variables, launch_argv, write_home
from benchflow.hosting.modes import write_mode
from benchflow.install import Install
from benchflow.manifest import Manifest
from benchflow.mode import BASELINE, Mode
from benchflow.network.border import border_sockets, proxy_environment
from benchflow.redact import Redactor
from benchflow.sandbox.interface import Bind, Folders, Inside, LaunchSpec, Network, Sandbox

GATEWAY_PORT = 4141
"""Where the agent finds the gateway, in a sandbox with a loopback of its own."""
DEFAULT_DIALECT = "openai-completions"
"""Whose base URL an agent is given that declares no dialect."""


@dataclass(frozen=True, kw_only=True)
class Equipment:
    """What all sessions of one agent share."""

    manifest: Manifest
    install: Install
    sandbox: Sandbox
    gateway: Gateway
    clock: Clock
    redactor: Redactor
    environ: Mapping[str, str]
    """The user's environment, of which only what the manifest names reaches the agent."""
    covers: tuple[Path, ...]
    """Folders of scenarios, which must look empty to the agent although what it needs may contain them."""
    provider_name: str
    """What stands before the model's name, for agents that want it there."""
    network: Network = "gateway"
    """`hosts` where it runs on its own backend, `open` where the user wants that."""
    require_capture: bool = True
    mode: Mode = BASELINE
    """What its sessions get beside what every session gets."""
    backend: OwnBackend | None = None
    """It runs on its own backend, whose manifest `manifest` then is; None: through the gateway."""


def launch_spec(kit: Equipment, params: CreateSessionParams) -> LaunchSpec:
    """Make the agent's HOME and TMPDIR beside its workspace, and return how it is started in them.

    The first socket of the spec is where the gateway is to serve, the others are the border's. Raises InputError where
    the manifest names what is not there.
    """
    base = params.workspace.path.parent
    folders = Folders(workspace=params.workspace.path, home=base / "home", tmp=base / "tmp")
    folders.home.mkdir()
    folders.tmp.mkdir()
    inside = kit.sandbox.inside(folders)
    socket = kit.sandbox.socket("tcp", GATEWAY_PORT, kit.network)
    place = f"127.0.0.1:{socket.port}"
    values = LaunchValues(
        base_url=kit.gateway.base_url(kit.manifest.api_protocol or DEFAULT_DIALECT, place),
        gateway_url=kit.gateway.base_url(None, place),
        api_key=f"sk-benchflow-{secrets.token_hex(16)}",
        model=params.model,
        provider=kit.provider_name,
        agent_dir=str(kit.install.folder),
        home=inside.home,
        workspace=inside.workspace,
        python=sys.executable,
    )
    variables = canonical_variables(kit.manifest, values)
    if kit.backend:
        variables = kit.backend.variables(variables)
    write_home(kit.manifest, variables, folders.home)
    write_mode(kit.mode, kit.manifest, folders.home)
    if kit.backend:
        kit.backend.copy_files(folders.home)
    border = border_sockets(kit.sandbox, kit.network)
    toolchain = params.toolchain
    entries = toolchain.agent_path(kit.install.path_entries) if toolchain else kit.install.path_entries
    path = ":".join(entries)
    env = agent_environment(kit.manifest, variables, path=path, tmp=inside.tmp, environ=kit.environ)
    return LaunchSpec(
        argv=launch_argv(kit.manifest, variables),
        env={**env, **kit.mode.environment, **proxy_environment(border, kit.backend.hosts if kit.backend else ())},
        folders=folders,
        binds=(
            *kit.install.binds,
            *(toolchain.binds if toolchain else ()),
            *(Bind(source=folder) for folder in kit.mode.folders),
        ),
        covers=kit.covers,
        network=kit.network,
        sockets=(socket, *border),
    )


def trial_context(params: CreateSessionParams, inside: Inside, port: int) -> TrialContext:
    """Return what the gateway may know of a trial whose agent sees these folders, and finds the gateway at `port`."""
    return TrialContext(
        trial=params.trial,
        attempt=params.attempt,
        model=params.model,
        prompts=params.prompts,
        solution=params.solution,
        iteration=params.iteration,
        scenario_id=params.scenario_id,
        workspace=inside.workspace,
        home=inside.home,
        tmp=inside.tmp,
        port=port,
    )


def permission_policy(manifest: Manifest, params: CreateSessionParams) -> PermissionConfig:
    """Return the trial's policy, or the manifest's where the trial has none of its own."""
    own = manifest.permissions
    if params.permissions != PermissionConfig():
        return params.permissions
    return PermissionConfig(auto_approve=own.auto_approve, allowed_tools=own.allowed_tools)
