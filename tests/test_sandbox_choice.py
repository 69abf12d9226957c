"""Which sandbox is taken, and what is said where bubblewrap does not work."""

import os
from pathlib import Path

import pytest
from sandboxes import NewChildren, bubblewrap_failure, make_spec, needs_bubblewrap, outcome

from benchflow.errors import InputError
from benchflow.sandbox.choose import choose_sandbox, diagnose
from benchflow.sandbox.diagnose import Finding, Machine, findings, remedy

UBUNTU = "bwrap: setting up uid map: Permission denied"
MACHINE = Machine(linux=True, program="/usr/bin/bwrap", version="0.11.0", settings={}, container=False)


@pytest.fixture
def broken_bubblewrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a bubblewrap on PATH that fails as it does under Ubuntu's AppArmor rule."""
    program = tmp_path / "bin/bwrap"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{UBUNTU}' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


async def test_process_is_taken_without_trying_anything(broken_bubblewrap: None) -> None:
    choice = await choose_sandbox("process")

    assert (choice.sandbox.isolation, choice.reason) == ("process", "as asked for")


@needs_bubblewrap
@pytest.mark.parametrize("wish", ["auto", "bubblewrap"])
async def test_bubblewrap_is_taken_where_it_works(wish: str, tmp_path: Path) -> None:
    children = NewChildren()
    choice = await choose_sandbox("auto" if wish == "auto" else "bubblewrap")
    async with choice.sandbox as sandbox:
        process = await sandbox.start(make_spec(tmp_path, "pwd"))

        assert await outcome(process) == (0, "/workspace\n", "")
    assert (choice.sandbox.isolation, choice.reason) == ("bubblewrap", "it works here")
    assert children.pids() == []


async def test_auto_falls_back_and_says_why(broken_bubblewrap: None, tmp_path: Path) -> None:
    choice = await choose_sandbox("auto")
    async with choice.sandbox as sandbox:
        process = await sandbox.start(make_spec(tmp_path, "true"))

        assert await outcome(process) == (0, "", "")
    assert (choice.sandbox.isolation, choice.reason) == ("process", f"bubblewrap does not work here: {UBUNTU}")


async def test_bubblewrap_never_falls_back(broken_bubblewrap: None) -> None:
    children = NewChildren()
    with pytest.raises(InputError, match=f"--sandbox bubblewrap: {UBUNTU}\n.+"):
        await choose_sandbox("bubblewrap")

    assert children.pids() == []


async def test_missing_bubblewrap_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(InputError, match=r"no `bwrap` on PATH(.|\n)*apt install bubblewrap"):
        await choose_sandbox("bubblewrap")


@pytest.mark.parametrize(
    ("failure", "machine", "words"),
    [
        ("it needs Linux", Machine(linux=False, program=None, version=None, settings={}, container=False), "process"),
        ("no bwrap", Machine(linux=True, program=None, version=None, settings={}, container=False), "apt install"),
        ("bwrap: Unknown option --disable-userns", MACHINE, "0.8 or later is needed, and this is 0.11.0"),
        (UBUNTU, MACHINE, "ask whoever runs this machine"),
    ],
)
def test_remedy(failure: str, machine: Machine, words: str) -> None:
    assert words in remedy(failure, machine)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"}, "bwrap-userns-restrict"),
        ({"proc/sys/kernel/unprivileged_userns_clone": "0\n"}, "sysctl -w kernel.unprivileged_userns_clone=1"),
        ({"proc/sys/user/max_user_namespaces": "0\n"}, "sysctl -w user.max_user_namespaces=15000"),
        ({".dockerenv": "", "proc/sys/user/max_user_namespaces": "9\n"}, "--security-opt seccomp=unconfined"),
    ],
)
def test_remedy_from_the_settings_of_the_machine(files: dict[str, str], words: str, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    assert words in remedy(UBUNTU, Machine.read(tmp_path, program="true"))


def test_findings_name_what_forbids_it() -> None:
    settings = {"kernel.apparmor_restrict_unprivileged_userns": "1", "user.max_user_namespaces": "100"}
    machine = Machine(linux=True, program="/usr/bin/bwrap", version="0.11.0", settings=settings, container=False)

    assert findings(machine, UBUNTU) == (
        Finding(subject="bubblewrap", ok=False, detail=UBUNTU, remedy=remedy(UBUNTU, machine)),
        Finding(subject="bubblewrap program", ok=True, detail="/usr/bin/bwrap 0.11.0"),
        Finding(subject="kernel.apparmor_restrict_unprivileged_userns", ok=False, detail="1"),
        Finding(subject="user.max_user_namespaces", ok=True, detail="100"),
        Finding(subject="container", ok=True, detail="no"),
    )


async def test_diagnosis_of_this_machine_agrees_with_a_trial_run() -> None:
    found = {finding.subject: finding for finding in await diagnose()}

    assert found["process"] == Finding(subject="process", ok=True, detail="a trial run worked")
    assert found["bubblewrap"].ok == (bubblewrap_failure() is None)
