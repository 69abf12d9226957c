"""The Python that a scenario brings: made once, alone, with what was asked for."""

import sys
from pathlib import Path

import anyio
import pytest
from sandboxes import BOTH, entered
from scenario_rig import ONE_CHECK, make_rig

from benchflow.errors import InputError
from benchflow.machine.home import Home
from benchflow.scenario import Tools
from benchflow.workspaces.toolchain import Toolchains

REPORT = "python3 -c 'import sys; print(sys.prefix, sys.version_info[:2], [p for p in sys.path if \"-packages\" in p])'"


@pytest.mark.parametrize("kind", BOTH)
async def test_commands_find_one_python_that_is_alone(tmp_path: Path, kind: str) -> None:
    async with entered(kind) as sandbox:
        rig = await make_rig(tmp_path, sandbox, ONE_CHECK)
        found = await rig.run(REPORT)
        folder = (await rig.toolchains.of(Tools())).folder

    version = tuple(sys.version_info[:2])
    packages = folder / f"lib/python{version[0]}.{version[1]}/site-packages"
    assert found.output == f"{folder} {version} {[str(packages)]}\n"


@pytest.mark.parametrize("kind", BOTH)
async def test_packages_are_there_and_cannot_be_changed(tmp_path: Path, kind: str) -> None:
    tools = '[tools]\npython = ["iniconfig==2.1.0"]\n'
    async with entered(kind) as sandbox:
        rig = await make_rig(tmp_path, sandbox, ONE_CHECK + tools)
        found = await rig.run("python3 -c 'import iniconfig; print(iniconfig.__file__)'; command -v python3")
        changed = await rig.run("touch $(dirname $(command -v python3))/evil")

    assert all(line.startswith(str(tmp_path / "home/tools")) for line in found.output.splitlines())
    assert kind == "process" or changed.exit_code != 0


async def test_it_is_made_once_by_whoever_comes_first(tmp_path: Path) -> None:
    home = Home(tmp_path)
    found: list[Path] = []

    async def one() -> None:
        found.append((await Toolchains(home).of(Tools(python=("iniconfig==2.1.0",)))).folder)

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(one)
    marks = {(path / "complete").stat().st_mtime_ns for path in found}
    again = (await Toolchains(home).of(Tools(python=("iniconfig==2.1.0",)))).folder

    assert (len(set(found)), len(marks), again) == (1, 1, found[0])


async def test_one_that_was_left_half_made_is_made_anew(tmp_path: Path) -> None:
    toolchain = await Toolchains(Home(tmp_path)).of(Tools())
    (toolchain.folder / "complete").unlink()
    (toolchain.folder / "bin/python3").unlink()
    await Toolchains(Home(tmp_path)).of(Tools())

    assert (toolchain.folder / "bin/python3").exists()


async def test_a_package_that_is_not_there_is_the_users_to_fix(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"iniconfig==0\.0\.0\.1 cannot be installed; check the names"):
        await Toolchains(Home(tmp_path)).of(Tools(python=("iniconfig==0.0.0.1",)))


async def test_agents_find_it_first_only_where_they_need_it(tmp_path: Path) -> None:
    plain = await Toolchains(Home(tmp_path)).of(Tools())
    needed = await Toolchains(Home(tmp_path)).of(Tools(python=("iniconfig==2.1.0",)))

    assert plain.agent_path(["/own/bin"]) == ("/own/bin", str(plain.folder / "bin"))
    assert needed.agent_path(["/own/bin"]) == (str(needed.folder / "bin"), "/own/bin")
