"""One process in a sandbox: what it is given, how it speaks, and how it ends."""

import os
import resource
from pathlib import Path

import anyio
import pytest
from sandboxes import BOTH, entered, make_spec, outcome, python, read_all, shell

from benchflow.errors import TrialError
from benchflow.sandbox.interface import ResourceLimits, SandboxedProcess

pytestmark = pytest.mark.parametrize("kind", BOTH)


async def test_streams_and_exit_status(kind: str, tmp_path: Path) -> None:
    async with entered(kind) as sandbox:
        process = await sandbox.start(shell(tmp_path, "cat; echo wrong >&2; exit 3"))
        await process.stdin.send(b"hello")

        assert await outcome(process) == (3, "hello", "wrong\n")


async def test_death_by_a_signal_is_a_negative_status(kind: str, tmp_path: Path) -> None:
    async with entered(kind) as sandbox:
        process = await sandbox.start(shell(tmp_path, "kill -SEGV $$"))

        assert (await outcome(process))[0] == -11


async def test_environment_is_exactly_what_was_given(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    async with entered(kind) as sandbox:
        process = await sandbox.start(
            make_spec(tmp_path, "env", env={"LANG": "C.UTF-8", "NAME": "vælue \n=2", "EMPTY": ""})
        )
        workspace = process.inside.workspace
        _, stdout, _ = await outcome(process)

    given = ["EMPTY=", "LANG=C.UTF-8", "NAME=vælue ", "=2", "PATH=/usr/local/bin:/usr/bin:/bin", f"PWD={workspace}"]
    assert sorted(stdout.splitlines()) == sorted(given)


async def test_no_descriptor_but_the_three_and_no_ignored_signal(kind: str, tmp_path: Path) -> None:
    script = "ls /proc/self/fd; grep -E 'Sig(Blk|Ign)' /proc/self/status"
    async with entered(kind) as sandbox:
        process = await sandbox.start(shell(tmp_path, script))
        _, stdout, _ = await outcome(process)

    *fds, _, blocked, _, ignored = stdout.split()
    assert fds == ["0", "1", "2", "3"]  # 3 is the folder that `ls` reads
    assert (int(blocked, 16), int(ignored, 16) & 0x7FFFFFFF) == (0, 0)  # glibc ignores two of its own above that


async def test_folders_are_where_inside_says(kind: str, tmp_path: Path) -> None:
    async with entered(kind) as sandbox:
        spec = shell(tmp_path, 'pwd; for each; do echo "$each" >"$each/file"; done')
        inside = sandbox.inside(spec.folders)
        spec = shell(tmp_path, spec.argv[2], inside.workspace, inside.home, inside.tmp)
        status, stdout, _ = await outcome(await sandbox.start(spec))

    folders = (spec.folders.workspace, spec.folders.home, spec.folders.tmp)
    found = [(folder / "file").read_text().strip() for folder in folders]
    assert (status, stdout, found) == (0, f"{inside.workspace}\n", [inside.workspace, inside.home, inside.tmp])


async def test_other_working_folder(kind: str, tmp_path: Path) -> None:
    async with entered(kind) as sandbox:
        process = await sandbox.start(make_spec(tmp_path, "pwd", cwd="/usr/bin"))

        assert await outcome(process) == (0, "/usr/bin\n", "")


async def test_stderr_to_a_descriptor(kind: str, tmp_path: Path) -> None:
    with (tmp_path / "stderr.log").open("wb") as log:
        async with entered(kind) as sandbox:
            process = await sandbox.start(shell(tmp_path, "echo words >&2", stderr=log.fileno()))
            await process.exited()

    assert (process.stderr, (tmp_path / "stderr.log").read_text()) == (None, "words\n")


async def test_end_of_file_on_stdin_ends_the_process(kind: str, tmp_path: Path) -> None:
    async with entered(kind) as sandbox:
        process = await sandbox.start(make_spec(tmp_path, "cat"))
        await process.stdin.aclose()

        assert await process.exited() == 0


@pytest.mark.parametrize("reader", ["cat", "python"])
async def test_huge_messages_pass_whole_both_ways(kind: str, reader: str, tmp_path: Path) -> None:
    message = bytes(range(256)) * 40_000
    slow = "import sys, time\nwhile block := sys.stdin.buffer.read(3_000_000): sys.stdout.buffer.write(block)"
    spec = make_spec(tmp_path, "cat") if reader == "cat" else python(tmp_path, slow)
    received = bytearray()

    async def receive(process: SandboxedProcess) -> None:
        async for block in process.stdout:
            received.extend(block)

    async with entered(kind) as sandbox:
        process = await sandbox.start(spec)
        async with anyio.create_task_group() as group:
            group.start_soon(receive, process)
            async with anyio.create_task_group() as senders:
                senders.start_soon(process.stdin.send, message)
                senders.start_soon(process.stdin.send, message)
            await process.stdin.aclose()

    assert received == message + message


async def test_sending_to_a_process_that_has_gone_is_an_error(kind: str, tmp_path: Path) -> None:
    async with entered(kind) as sandbox:
        process = await sandbox.start(make_spec(tmp_path, "true"))
        await process.exited()
        await process.stop(0)

        with pytest.raises(anyio.BrokenResourceError):
            await process.stdin.send(b"anybody?")


async def test_cancelled_sending_cuts_no_message(kind: str, tmp_path: Path) -> None:
    message = b"x" * 1_000_000 + b"\n"
    async with entered(kind) as sandbox:
        process = await sandbox.start(shell(tmp_path, "while [ ! -e go ]; do sleep 0.01; done; wc -lc"))
        with anyio.move_on_after(0.05) as scope:
            await process.stdin.send(message)
        (tmp_path / "workspace/go").touch()
        await process.stdin.send(b"next\n")
        _, stdout, _ = await outcome(process)

    assert (scope.cancelled_caught, stdout.split()) == (True, ["2", str(len(message) + 5)])


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("nonesuch", None, "nonesuch: is not on PATH, which is /usr/local/bin:/usr/bin:/bin"),
        ("./nonesuch", None, "./nonesuch: does not exist"),
        ("./program", "echo", "./program: is not executable"),
        ("./program", "#!/no/interpreter\n", "its interpreter /no/interpreter does not exist"),
    ],
)
async def test_program_that_cannot_be_executed(
    kind: str, tmp_path: Path, name: str, text: str | None, words: str
) -> None:
    async with entered(kind) as sandbox:
        spec = make_spec(tmp_path, name)
        if text:
            program = spec.folders.workspace / "program"
            program.write_text(text)
            program.chmod(0o644 if text == "echo" else 0o755)
        with pytest.raises(TrialError) as caught:
            await sandbox.start(spec)
        alive = await outcome(await sandbox.start(make_spec(tmp_path, "true")))

    assert (caught.value.code, words in str(caught.value), alive) == ("launch", True, (0, "", ""))


async def test_script_without_interpreter_line_is_run_by_the_shell(kind: str, tmp_path: Path) -> None:
    async with entered(kind) as sandbox:
        spec = make_spec(tmp_path, "./program", "words")
        program = spec.folders.workspace / "program"
        program.write_text("echo $0 $1")
        program.chmod(0o755)

        assert await outcome(await sandbox.start(spec)) == (0, "./program words\n", "")


async def test_working_folder_that_does_not_exist(kind: str, tmp_path: Path) -> None:
    async with entered(kind) as sandbox:
        with pytest.raises(TrialError, match="/no/folder: No such file or directory"):
            await sandbox.start(make_spec(tmp_path, "true", cwd="/no/folder"))


async def test_resource_limits(kind: str, tmp_path: Path) -> None:
    limits = ResourceLimits(open_files=100, cpu_s=50, file_bytes=4096, address_bytes=2**32)
    script = "ulimit -Hn; ulimit -n; ulimit -Ht; ulimit -Hv; head -c 5000 /dev/zero >file"
    async with entered(kind) as sandbox:
        process = await sandbox.start(shell(tmp_path, script, limits=limits))
        _, stdout, _ = await outcome(process)
        free = await outcome(await sandbox.start(shell(tmp_path, "ulimit -t")))

    written = (tmp_path / "workspace/file").stat().st_size
    assert (stdout.split(), written, free) == (["100", "100", "50", str(2**22)], 4096, (0, "unlimited\n", ""))


async def test_shortage_of_descriptors_is_an_error_that_leaks_none(kind: str, tmp_path: Path) -> None:
    spec = make_spec(tmp_path, "true")
    async with entered(kind) as sandbox:
        await outcome(await sandbox.start(spec))
        before, limits = sorted(os.listdir("/proc/self/fd")), resource.getrlimit(resource.RLIMIT_NOFILE)
        free = [number for number in range(limits[0]) if str(number) not in before]
        resource.setrlimit(resource.RLIMIT_NOFILE, (free[3], limits[1]))
        try:
            with pytest.raises(TrialError, match="cannot start true: Too many open files"):
                await sandbox.start(spec)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)

        assert sorted(os.listdir("/proc/self/fd")) == before
        assert await outcome(await sandbox.start(spec)) == (0, "", "")


async def test_two_hundred_at_once(kind: str, tmp_path: Path) -> None:
    answers: list[str] = []

    async with entered(kind) as sandbox, anyio.create_task_group() as group:

        async def one(number: int) -> None:
            process = await sandbox.start(shell(tmp_path, "read line; echo $line", cwd="/"))
            await process.stdin.send(b"%d\n" % number)
            answers.append(await read_all(process.stdout))
            await process.stop(1)

        for number in range(200):
            group.start_soon(one, number)

    assert sorted(map(int, answers)) == list(range(200))
