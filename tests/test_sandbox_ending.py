"""The end of a process tree: whatever happens, and whatever the tree does, nothing of it stays alive."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from sandboxes import (
    BOTH,
    DAEMON,
    LIMIT_S,
    NewChildren,
    entered,
    is_held,
    make_spec,
    outcome,
    python,
    read_all,
    read_until,
    shell,
)

from benchflow.sandbox.helper import processes
from benchflow.sandbox.interface import SandboxedProcess

pytestmark = pytest.mark.parametrize("kind", BOTH)

HOST = """
import anyio, signal, sys
from pathlib import Path
from sandboxes import DAEMON, entered, read_until, shell

async def main():
    async with entered(sys.argv[1]) as sandbox:
        process = await sandbox.start(shell(Path(sys.argv[2]), DAEMON + "cat"))
        await read_until(process.stdout, "held")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("ready", flush=True)
        await anyio.to_thread.run_sync(sys.stdin.readline)
        await process.stdin.send(b"alive")
        print(await read_until(process.stdout, "alive"), flush=True)

anyio.run(main)
"""
"""A program that runs a daemon in a sandbox, and on a line from its stdin sees whether the agent still answers."""


async def test_what_the_first_process_leaves_behind_is_killed(kind: str, tmp_path: Path) -> None:
    async with entered(kind) as sandbox:
        process = await sandbox.start(shell(tmp_path, f"{DAEMON} while [ ! -e done ]; do sleep 0.01; done"))
        await read_until(process.stdout, "held")
        held_before = is_held(tmp_path / "workspace/lock")
        (tmp_path / "workspace/done").touch()
        rest = await read_all(process.stdout)  # ends, although the daemon had it open

        assert (held_before, rest, await process.exited()) == (True, "", 0)
        await process.stop(0)
        assert not is_held(tmp_path / "workspace/lock")


async def test_stop_lets_a_process_leave_on_end_of_file(kind: str, tmp_path: Path) -> None:
    async with entered(kind) as sandbox:
        process = await sandbox.start(shell(tmp_path, "echo ready; cat; exit 5"))
        await read_until(process.stdout, "ready")
        await process.stop(LIMIT_S)

        assert await process.exited() == 5


async def test_stop_terminates_a_process_that_does_not_leave(kind: str, tmp_path: Path) -> None:
    script = "trap 'exit 7' TERM; (trap 'echo child >&2; exit' TERM; echo ready; while :; do sleep 0.01; done) & wait"
    async with entered(kind) as sandbox:
        process = await sandbox.start(shell(tmp_path, script))
        await read_until(process.stdout, "ready")
        await process.stop(2)

        assert await process.exited() == 7


async def test_stop_kills_a_process_that_is_deaf(kind: str, tmp_path: Path) -> None:
    async with entered(kind) as sandbox:
        process = await sandbox.start(shell(tmp_path, f"trap '' TERM; {DAEMON} while :; do sleep 0.01; done"))
        await read_until(process.stdout, "held")
        await process.stop(0.1)
        await process.stop(0.1)

        assert (await process.exited(), is_held(tmp_path / "workspace/lock")) == (-9, False)


async def test_fork_storm_is_ended(kind: str, tmp_path: Path) -> None:
    script = """
import os, sys
print("ready", flush=True)
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        while os.fork() == 0:  # each generation leaves at once, and the next lives on
            os.setsid()
        os._exit(0)
os._exit(0) if os.fork() else os.setsid()
while True: pass
"""
    async with entered(kind) as sandbox:
        process = await sandbox.start(python(tmp_path, script))
        await read_until(process.stdout, "ready")
        await process.stop(0)

        assert await process.exited() in (0, -9)


async def test_leaving_the_sandbox_ends_everything(kind: str, tmp_path: Path) -> None:
    children = NewChildren()
    async with entered(kind) as sandbox:
        process = await sandbox.start(shell(tmp_path, f"{DAEMON} cat"))
        await read_until(process.stdout, "held")

    assert (await process.exited(), is_held(tmp_path / "workspace/lock")) == (-9, False)
    assert children.pids() == []


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 10])
async def test_cancelled_start_leaves_nothing(kind: str, steps: int, tmp_path: Path) -> None:
    spec = shell(tmp_path, "exec 9>lock; flock -n 9 || exit 1; sleep 1000")
    started: list[SandboxedProcess] = []

    async def start() -> None:
        started.append(await sandbox.start(spec))

    async with entered(kind) as sandbox:
        async with anyio.create_task_group() as group:
            group.start_soon(start)
            for _ in range(steps):
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        for process in started:
            await process.stop(0)

        assert await outcome(await sandbox.start(shell(tmp_path, "exec 9>lock; flock -n 9"))) == (0, "", "")


async def test_killed_helper_takes_its_trees_along_and_is_replaced(kind: str, tmp_path: Path) -> None:
    children = NewChildren()
    async with entered(kind) as sandbox:
        process = await sandbox.start(shell(tmp_path, f"{DAEMON} cat"))
        await read_until(process.stdout, "held")
        (helper,) = children.pids()
        os.kill(helper, signal.SIGKILL)

        assert await process.exited() == -9
        await process.stop(0)
        assert not is_held(tmp_path / "workspace/lock")
        assert await outcome(await sandbox.start(make_spec(tmp_path, "true"))) == (0, "", "")


async def test_killed_supervisor_takes_its_tree_along(kind: str, tmp_path: Path) -> None:
    children = NewChildren()
    async with entered(kind) as sandbox:
        process = await sandbox.start(shell(tmp_path, f"{DAEMON} cat"))
        await read_until(process.stdout, "held")
        (helper,) = children.pids()
        (supervisor,) = processes.children_of(helper)
        os.kill(supervisor, signal.SIGKILL)

        assert await process.exited() == -9
        await process.stop(0)
        assert not is_held(tmp_path / "workspace/lock")
        assert await outcome(await sandbox.start(make_spec(tmp_path, "true"))) == (0, "", "")


def start_host(kind: str, folder: Path) -> subprocess.Popen[str]:
    """Start `HOST` in a session of its own and wait until its daemon runs."""
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, kind, str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert host.stdout
    assert host.stdout.readline() == "ready\n", host.communicate(timeout=LIMIT_S)
    return host


def test_kill_9_leaves_no_process(kind: str, tmp_path: Path) -> None:
    with start_host(kind, tmp_path) as host:
        held = is_held(tmp_path / "workspace/lock")
        host.kill()
        # The helper and its supervisors hold this stream: its end is theirs, and they go last.
        _, stderr = host.communicate(timeout=LIMIT_S)

    assert (held, stderr, is_held(tmp_path / "workspace/lock")) == (True, "", False)


def test_ctrl_c_reaches_only_benchflow(kind: str, tmp_path: Path) -> None:
    with start_host(kind, tmp_path) as host:
        os.killpg(host.pid, signal.SIGINT)
        stdout, stderr = host.communicate("go on\n", timeout=LIMIT_S)

    assert (host.returncode, stdout, stderr) == (0, "alive\n", "")
