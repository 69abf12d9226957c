"""Gets what an install runs with: the runtimes that the manifest asks for, and the tools that BenchFlow brings."""

import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import anyio.to_thread

from benchflow.errors import InputError
from benchflow.installing.runtimes import (
    Runtime,
    find_node,
    find_python,
    how_to_get,
    keep_fetched_node,
    node_fetch_lines,
)
from benchflow.installing.versions import Constraint
from benchflow.machine.home import Home
from benchflow.manifest import Manifest
from benchflow.workspaces.snapshot import remove_tree

FETCH_TIMEOUT_S = 600.0

RunLine = Callable[[str, Path, float], Awaitable[int | None]]
"""Runs a bash line in a folder, with a time limit in seconds; returns its exit status, or None when time was up."""


async def provide_runtimes(
    manifest: Manifest, *, home: Home, environ: Mapping[str, str], run: RunLine
) -> list[Runtime]:
    """Return the runtimes of the manifest, fetched where they can be. Raises InputError saying how to get one."""
    found: list[Runtime] = []
    if text := manifest.runtimes.python:
        wanted = Constraint.parse(text)
        python = await anyio.to_thread.run_sync(find_python, wanted, environ)
        found.append(python or _missing(manifest, "python", text))
    if text := manifest.runtimes.node:
        wanted = Constraint.parse(text)
        node = await anyio.to_thread.run_sync(find_node, wanted, environ, home)
        found.append(node or await _fetch_node(wanted, home, run) or _missing(manifest, "node", text))
    return found


def provide_tools(home: Home) -> Path:
    """Return a folder for PATH with the tools that BenchFlow depends on itself: uv."""
    import uv

    folder = home.tools / "bin"
    link = folder / "uv"
    try:
        program = Path(uv.find_uv_bin())
    except FileNotFoundError:
        return folder  # the user's own, if there is one, is on PATH
    if not link.is_symlink() or link.readlink() != program:
        folder.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=folder)) / "uv"
        fresh.symlink_to(program)
        fresh.replace(link)  # another BenchFlow may be using it at this moment
        fresh.parent.rmdir()
    return folder


async def _fetch_node(wanted: Constraint, home: Home, run: RunLine) -> Runtime | None:
    home.runtimes.mkdir(parents=True, exist_ok=True)
    for line in node_fetch_lines(wanted):
        folder = Path(tempfile.mkdtemp(prefix=".fetch-", dir=home.runtimes))
        try:
            if await run(line, folder, FETCH_TIMEOUT_S) == 0 and (node := keep_fetched_node(folder, home)):
                return node
        finally:
            await anyio.to_thread.run_sync(remove_tree, folder)
    return None


def _missing(manifest: Manifest, name: str, wanted: str) -> Runtime:
    raise InputError(
        f"{manifest.place}: `runtimes.{name}` asks for {wanted}, and this machine has none that fits; "
        + how_to_get(name, wanted)
    )
