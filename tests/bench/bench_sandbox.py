"""What it costs to start a process in a sandbox and to end it, against the least that the machine allows.

Run it by hand: `python tests/bench/bench_sandbox.py`. The limits are measured in the same run: Python's `subprocess`
starting `true`, and bubblewrap starting it with a plain profile, without a socket. CPU is that of everything: this
process, the helper with all that it forks, bubblewrap, and `true` itself.
"""

import asyncio
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchflow.sandbox.bubblewrap import BubblewrapSandbox
from benchflow.sandbox.helper import linux
from benchflow.sandbox.interface import Folders, LaunchSpec, Sandbox
from benchflow.sandbox.process import ProcessSandbox

ROUNDS = 15
LAUNCHES = 20
PLAIN = """bwrap --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64
    --proc /proc --dev /dev --unshare-all --unshare-user --disable-userns --cap-drop ALL --uid 1000 --gid 1000
    --die-with-parent --new-session --clearenv --bind {0}/workspace /workspace --bind {0}/home /home/agent
    --bind {0}/tmp /tmp --chdir /workspace true"""


def cpu_s() -> float:
    """CPU seconds of this process and of all its children that have ended."""
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def spawned(folder: Path, command: str) -> list[float]:
    """Start a command with `subprocess`; return the seconds of each, start to end."""
    seconds = []
    for _ in range(LAUNCHES):
        begun = time.perf_counter()
        subprocess.run(command.format(folder).split(), check=True)
        reap_orphans()
        seconds.append(time.perf_counter() - begun)
    return seconds


def reap_orphans() -> None:
    """Wait for what the command left to us: most of bubblewrap's work is done by a process that outlives it."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def sandboxed(folder: Path, make: Callable[[], Sandbox], sockets: bool) -> list[float]:
    """The same with a sandbox."""
    return asyncio.run(launched(folder, make, sockets))


async def launched(folder: Path, make: Callable[[], Sandbox], sockets: bool) -> list[float]:
    """Start `true` in a sandbox that was entered before; the helper's own start is in the CPU, not in the times."""
    folders = Folders(workspace=folder / "workspace", home=folder / "home", tmp=folder / "tmp")
    seconds = []
    async with make() as sandbox:
        for number in range(LAUNCHES + 1):
            wanted = (sandbox.socket("tcp", 0, "gateway"),) if sockets else ()
            spec = LaunchSpec(argv=("true",), env={"PATH": "/usr/bin:/bin"}, folders=folders, sockets=wanted)
            begun = time.perf_counter()
            process = await sandbox.start(spec)
            await process.exited()
            await process.stop(0)
            if number:  # the first waits for the helper
                seconds.append(time.perf_counter() - begun)
            for each in process.sockets:
                each.close()
    return seconds


async def idle(make: Callable[[], Sandbox]) -> None:
    """Enter and leave."""
    async with make():
        pass


Work = Callable[[Path], list[float]]
WORKS: dict[str, tuple[Work, str]] = {
    "true, spawned": (lambda folder: spawned(folder, "true"), "true, spawned"),
    "process": (lambda folder: sandboxed(folder, ProcessSandbox, False), "true, spawned"),
    "process with a socket": (lambda folder: sandboxed(folder, ProcessSandbox, True), "true, spawned"),
    "bwrap, spawned": (lambda folder: spawned(folder, PLAIN), "bwrap, spawned"),
    "bubblewrap": (lambda folder: sandboxed(folder, BubblewrapSandbox, False), "bwrap, spawned"),
    "bubblewrap with a socket": (lambda folder: sandboxed(folder, BubblewrapSandbox, True), "bwrap, spawned"),
}


def main() -> None:
    linux.adopt_orphans()
    wall: dict[str, list[float]] = {name: [] for name in WORKS}
    cpu: dict[str, list[float]] = {name: [] for name in (*WORKS, "helper")}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for each in ("workspace", "home", "tmp"):
            (folder / each).mkdir()
        for _ in range(ROUNDS):  # in turns, so that whatever else the machine does falls on all of them
            before = cpu_s()
            asyncio.run(idle(ProcessSandbox))
            cpu["helper"].append(cpu_s() - before)
            for title, (work, _) in WORKS.items():
                before = cpu_s()
                wall[title].append(statistics.median(work(folder)))
                cpu[title].append((cpu_s() - before) / LAUNCHES)
    helper = statistics.median(cpu["helper"])
    print(f"the helper's start and end, once a run: {helper * 1e3:.1f} ms CPU")
    for title, (_, limit) in WORKS.items():
        own = 0 if title == limit else helper / LAUNCHES
        took, used = statistics.median(wall[title]), statistics.median(cpu[title]) - own
        least, least_used = statistics.median(wall[limit]), statistics.median(cpu[limit])
        print(
            f"{title:25} {took * 1e3:6.2f} ms, {took / least:.2f} of its limit; CPU {used * 1e3:5.2f} ms, "
            f"{(used - least_used) * 1e3:+.2f} ms"
        )


if __name__ == "__main__":
    main()
