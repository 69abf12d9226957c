import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from benchflow.errors import InputError, TrialError
from benchflow.install import Install, Place, ensure_installed
from benchflow.installing.env import registry_secrets, registry_settings
from benchflow.installing.needs import needed_folders
from benchflow.installing.runtimes import find_node, find_python, folders_behind, how_to_get, own_folders
from benchflow.installing.versions import Constraint
from benchflow.machine.home import Home
from benchflow.machine.locked import locked
from benchflow.manifest import Manifest, load_manifest, manifest_of_code
from benchflow.manifests.unregistered import manifest_of_command
from benchflow.sandbox.process import ProcessSandbox

TIME_LIMIT_S = 60


@pytest.fixture
async def sandbox() -> AsyncIterator[ProcessSandbox]:
    async with ProcessSandbox() as sandbox:
        yield sandbox


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def put(folder: Path, install_cmd: str, *lines: str) -> Manifest:
    folder.mkdir(parents=True, exist_ok=True)
    text = [
        'contract_version = "1.1"',
        'name = "some agent"',
        'launch_cmd = "run"',
        f"install_cmd = '''{install_cmd}'''",
    ]
    (folder / "manifest.toml").write_text("\n".join([*text, *lines]))
    return load_manifest(folder)


def running(marker: str) -> list[str]:
    done = subprocess.run(["pgrep", "-f", marker], capture_output=True, text=True, check=False)
    return done.stdout.split()


async def test_install_runs_in_the_agents_folder_after_its_files_were_copied(
    tmp_path: Path, home: Home, sandbox: ProcessSandbox
) -> None:
    (tmp_path / "agent" / "lib").mkdir(parents=True)
    (tmp_path / "agent" / "lib" / "server.py").write_text("print()")
    (tmp_path / "agent" / "evidence.json").write_text("{}")
    manifest = put(
        tmp_path / "agent", 'test "$PWD" = "$BENCHFLOW_AGENT_DIR" && ls -A > seen && echo said; echo err >&2'
    )
    heard: list[str] = []

    made = await ensure_installed(manifest, home=home, sandbox=sandbox, on_line=heard.append)
    again = await ensure_installed(manifest, home=home, sandbox=sandbox)

    assert (made.folder / "seen").read_text().split() == [".home", "lib", "manifest.toml", "seen"]
    assert made.folder.parent.parent == home.installs
    assert made.folder.parent.name == f"some-agent-{manifest.digest[:12]}"
    assert (made.cached, again.cached) == (False, True)
    assert heard == ["said", "err"]
    assert made.log.read_text().endswith("said\nerr\n")
    assert made.path_entries == (f"{made.folder}/bin", "/usr/local/bin", "/usr/bin", "/bin")
    assert [bind.source for bind in made.binds] == [made.folder]
    assert not any(bind.writable for bind in made.binds)


async def test_edit_of_a_file_installs_anew_and_nothing_else_does(
    tmp_path: Path, home: Home, sandbox: ProcessSandbox
) -> None:
    folder = tmp_path / "agent"
    folder.mkdir()
    await anyio.run_process(["git", "init", "-q", str(folder)])
    (folder / ".gitignore").write_text("build/\n")
    (folder / "build").mkdir()

    async def install(name: str) -> Install:
        (folder / name).write_text(str(len(list(folder.rglob("*")))))
        return await ensure_installed(put(folder, "ls", 'source = "."'), home=home, sandbox=sandbox)

    first = await install("server.py")
    ignored = await install("build/output")
    edited = await install("new.py")

    assert [one.cached for one in (first, ignored, edited)] == [False, True, False]
    assert sorted(path.name for path in edited.folder.iterdir() if path.name != ".home") == [
        ".gitignore",
        "manifest.toml",
        "new.py",
        "server.py",
    ]


async def test_source_may_be_another_folder(tmp_path: Path, home: Home, sandbox: ProcessSandbox) -> None:
    (tmp_path / "repo" / "src").mkdir(parents=True)
    (tmp_path / "repo" / "src" / "a.py").write_text("")
    (tmp_path / "repo" / "link").symlink_to("src/a.py")
    manifest = put(tmp_path / "repo" / "bench", "true", 'source = ".."')

    made = await ensure_installed(manifest, home=home, sandbox=sandbox)

    assert (made.folder / "src" / "a.py").is_file()
    assert os.readlink(made.folder / "link") == "src/a.py"
    assert (made.folder / "bench" / "manifest.toml").is_file()


async def test_failing_install_shows_the_end_of_its_log_and_is_done_anew(
    tmp_path: Path, home: Home, sandbox: ProcessSandbox
) -> None:
    manifest = put(
        tmp_path / "agent",
        f"echo half > half; seq 50; test -e {tmp_path}/fixed || {{ echo 'no such package' >&2; exit 4; }}",
    )

    with pytest.raises(TrialError) as caught:
        await ensure_installed(manifest, home=home, sandbox=sandbox)
    place = Place.of(manifest, home)
    half = (place.agent / "half").exists()
    (place.agent / "left over").touch()
    (tmp_path / "fixed").touch()
    made = await ensure_installed(manifest, home=home, sandbox=sandbox)

    assert caught.value.code == "install"
    message = str(caught.value)
    assert "ended with status 4" in message
    assert message.endswith("\n  49\n  50\n  no such package")
    assert "\n  30\n" not in message
    assert str(place.log) in message
    assert half
    assert not (made.folder / "left over").exists()


async def test_install_that_hangs_is_killed_with_all_that_it_started(
    tmp_path: Path, home: Home, sandbox: ProcessSandbox
) -> None:
    marker = f"sleep 98.{os.getpid()}5"
    manifest = put(tmp_path / "agent", f"echo begun; setsid {marker} & {marker}", "install_timeout = 3")

    with pytest.raises(TrialError, match=r"was not done after 3 s[\s\S]*begun"):
        await ensure_installed(manifest, home=home, sandbox=sandbox)

    assert running(marker) == []
    assert not Place.of(manifest, home).record.exists()


async def test_cancelled_install_leaves_no_process_and_no_record(
    tmp_path: Path, home: Home, sandbox: ProcessSandbox
) -> None:
    marker = f"sleep 98.{os.getpid()}6"
    manifest = put(tmp_path / "agent", f"echo begun; {marker}")
    begun = anyio.Event()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: ensure_installed(manifest, home=home, sandbox=sandbox, on_line=lambda _: begun.set()))
        with anyio.fail_after(TIME_LIMIT_S):
            await begun.wait()
        tasks.cancel_scope.cancel()

    assert running(marker) == []
    assert not Place.of(manifest, home).record.exists()


async def test_two_at_once_install_once(tmp_path: Path, home: Home, sandbox: ProcessSandbox) -> None:
    manifest = put(tmp_path / "agent", f"echo run >> {tmp_path}/runs")
    made: list[Install] = []

    async def install() -> None:
        made.append(await ensure_installed(manifest, home=home, sandbox=sandbox))

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(install)

    assert sorted(one.cached for one in made) == [False, True, True, True]
    assert (tmp_path / "runs").read_text() == "run\n"


async def test_another_process_is_waited_for(tmp_path: Path, home: Home, sandbox: ProcessSandbox) -> None:
    manifest = put(tmp_path / "agent", "true")
    place = Place.of(manifest, home)
    place.root.mkdir(parents=True)
    program = "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.flock(f, 2); print('held', flush=True); input()"
    holder = await anyio.open_process([sys.executable, "-c", program, str(place.root / "lock")])
    assert holder.stdin
    assert holder.stdout
    await holder.stdout.receive()

    with anyio.move_on_after(0.2) as waiting:
        await ensure_installed(manifest, home=home, sandbox=sandbox)
    await holder.stdin.aclose()
    made = await ensure_installed(manifest, home=home, sandbox=sandbox)
    await holder.wait()
    await holder.aclose()

    assert waiting.cancelled_caught
    assert not made.cached


async def test_lock_whose_folder_was_removed_by_its_holder_is_taken_anew(tmp_path: Path) -> None:
    path = tmp_path / "place" / "lock"
    taken = anyio.Event()

    async def take() -> None:
        async with locked(path):
            assert path.exists()
            taken.set()

    async with anyio.create_task_group() as tasks:
        async with locked(path):
            tasks.start_soon(take)
            await anyio.wait_all_tasks_blocked()
            shutil.rmtree(path.parent)
        with anyio.fail_after(TIME_LIMIT_S):
            await taken.wait()


async def test_lock_is_free_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        async with locked(tmp_path / "lock"):
            raise RuntimeError
    with anyio.fail_after(TIME_LIMIT_S):
        async with locked(tmp_path / "lock"):
            pass


async def test_reinstall_makes_it_anew(tmp_path: Path, home: Home, sandbox: ProcessSandbox) -> None:
    manifest = put(tmp_path / "agent", "true")
    made = await ensure_installed(manifest, home=home, sandbox=sandbox)
    (made.folder / "spoilt").touch()

    again = await ensure_installed(manifest, home=home, sandbox=sandbox, reinstall=True)

    assert not again.cached
    assert not (again.folder / "spoilt").exists()


@pytest.mark.parametrize("spoil", ["{", "[]", '{"schema": 0}'])
async def test_spoilt_record_means_to_install(tmp_path: Path, home: Home, sandbox: ProcessSandbox, spoil: str) -> None:
    manifest = put(tmp_path / "agent", "true")
    await ensure_installed(manifest, home=home, sandbox=sandbox)
    Place.of(manifest, home).record.write_text(spoil)

    assert not (await ensure_installed(manifest, home=home, sandbox=sandbox)).cached


async def test_install_whose_runtime_has_gone_is_made_anew(tmp_path: Path, home: Home, sandbox: ProcessSandbox) -> None:
    (tmp_path / "runtime" / "bin").mkdir(parents=True)
    (tmp_path / "runtime" / "lib").mkdir()
    (tmp_path / "runtime" / "bin" / "tool").touch()
    manifest = put(tmp_path / "agent", f"ln -s {tmp_path}/runtime/bin/tool tool")

    made = await ensure_installed(manifest, home=home, sandbox=sandbox)
    shutil.rmtree(tmp_path / "runtime")

    assert [bind.source for bind in made.binds] == [made.folder, tmp_path / "runtime"]
    assert not (await ensure_installed(manifest, home=home, sandbox=sandbox)).cached


async def test_environment_of_an_install(tmp_path: Path, home: Home, sandbox: ProcessSandbox) -> None:
    user = tmp_path / "user"
    user.mkdir()
    (user / ".npmrc").touch()
    environ = {
        "PATH": "/opt/tools:/usr/bin:/bin",
        "HOME": str(user),
        "PIP_INDEX_URL": "https://me:pass-word@pypi.example/simple",
        "UV_INDEX_URL": "https://pypi.example/simple",
        "npm_config_registry": "https://npm.example",
        "https_proxy": "http://proxy.example",
        "SSL_CERT_FILE": "/etc/ssl/cert.pem",
        "PIP_TARGET": "/elsewhere",
        "UV_PYTHON_INSTALL_DIR": "/elsewhere",
        "NPM_CONFIG_PREFIX": "/elsewhere",
        "PIP_CACHE_DIR": "/elsewhere",
        "VIRTUAL_ENV": "/elsewhere",
        "NODE_OPTIONS": "--inspect",
        "OPENAI_API_KEY": "sk-real",
    }
    manifest = put(tmp_path / "agent", "env; echo to pypi.example as pass-word", 'version = "1.2"')

    made = await ensure_installed(manifest, home=home, sandbox=sandbox, environ=environ)
    got = dict(line.split("=", 1) for line in made.log.read_text().splitlines() if "=" in line and "$ " not in line)

    agent = made.folder
    expected = {
        "HOME": f"{agent}/.home",
        "PATH": f"{agent}/bin:{home.tools}/bin:/opt/tools:/usr/bin:/bin",
        "TMPDIR": f"{agent.parent}/tmp",
        "BENCHFLOW_AGENT_DIR": str(agent),
        "BENCHFLOW_AGENT_VERSION": "1.2",
        "BENCHFLOW_PYTHON": sys.executable,
        "PIP_CACHE_DIR": f"{home.cache}/pip",
        "UV_CACHE_DIR": f"{home.cache}/uv",
        "npm_config_cache": f"{home.cache}/npm",
        "XDG_CACHE_HOME": str(home.cache),
        "PIP_INDEX_URL": "https://me:[redacted:known]@pypi.example/simple",
        "UV_INDEX_URL": "https://pypi.example/simple",
        "npm_config_registry": "https://npm.example",
        "https_proxy": "http://proxy.example",
        "SSL_CERT_FILE": "/etc/ssl/cert.pem",
        "NPM_CONFIG_USERCONFIG": f"{user}/.npmrc",
    }
    assert {name: got.get(name) for name in expected} == expected
    assert not {"PIP_TARGET", "UV_PYTHON_INSTALL_DIR", "NPM_CONFIG_PREFIX", "VIRTUAL_ENV"} & got.keys()
    assert not {"NODE_OPTIONS", "OPENAI_API_KEY"} & got.keys()
    assert not (agent.parent / "tmp").exists()
    assert "pass-word" not in made.log.read_text()


def test_registry_settings_find_the_users_files_and_their_secrets(tmp_path: Path) -> None:
    (tmp_path / ".config" / "pip").mkdir(parents=True)
    (tmp_path / ".config" / "pip" / "pip.conf").touch()
    environ = {"HOME": str(tmp_path), "NPM_CONFIG_//x/:_authToken": "token-one", "UV_INDEX_A_PASSWORD": "token-two"}

    settings = registry_settings({**environ, "PIP_EXTRA_INDEX_URL": "https://token-three@x/ https://u:token-four@y/"})

    assert settings["PIP_CONFIG_FILE"] == str(tmp_path / ".config/pip/pip.conf")
    assert sorted(registry_secrets(settings)) == ["token-four", "token-one", "token-three", "token-two"]
    assert registry_settings({"HOME": str(tmp_path), "PIP_CONFIG_FILE": "/x"})["PIP_CONFIG_FILE"] == "/x"


def test_machine_wide_settings_of_npm_are_found_beside_it(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "etc").mkdir()
    npm = tmp_path / "bin" / "npm"
    npm.write_text("#!/bin/sh\n")
    npm.chmod(0o755)
    file = tmp_path / "etc" / "npmrc"
    environ = {"PATH": str(tmp_path / "bin")}

    assert "NPM_CONFIG_GLOBALCONFIG" not in registry_settings(environ)
    file.write_text("cafile=/x\n")
    assert registry_settings(environ)["NPM_CONFIG_GLOBALCONFIG"] == str(file)
    assert registry_settings({**environ, "NPM_CONFIG_GLOBALCONFIG": "/y"})["NPM_CONFIG_GLOBALCONFIG"] == "/y"


async def test_question_in_an_install_gets_no_answer_and_ends(
    tmp_path: Path, home: Home, sandbox: ProcessSandbox
) -> None:
    with pytest.raises(TrialError, match="ended with status 1"):
        await ensure_installed(put(tmp_path / "agent", "read -r answer"), home=home, sandbox=sandbox)


async def test_missing_runtime_says_how_to_get_it(tmp_path: Path, home: Home, sandbox: ProcessSandbox) -> None:
    manifest = put(tmp_path / "agent", "true", "[runtimes]", 'python = ">=9.1,<10"')

    with pytest.raises(
        InputError, match=r"manifest\.toml: `runtimes\.python` asks for >=9\.1,<10.*uv python install 9\.1"
    ):
        await ensure_installed(manifest, home=home, sandbox=sandbox)


async def test_node_that_cannot_be_fetched_says_how_to_get_it(
    tmp_path: Path, home: Home, sandbox: ProcessSandbox
) -> None:
    manifest = put(tmp_path / "agent", "true", "[runtimes]", 'node = ">=9000"')
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PIP_INDEX_URL": "http://127.0.0.1:1/simple"}
    environ |= {"npm_config_registry": "http://127.0.0.1:1", "npm_config_fetch_retries": "0", "UV_OFFLINE": "1"}
    environ |= {"PIP_RETRIES": "0"}

    with pytest.raises(InputError, match=r"`runtimes\.node` asks for >=9000.*PATH"):
        await ensure_installed(manifest, home=home, sandbox=sandbox, environ=environ)

    assert list(home.runtimes.iterdir()) == []


async def test_runtime_comes_first_on_path(tmp_path: Path, home: Home, sandbox: ProcessSandbox) -> None:
    major, minor = sys.version_info[:2]
    manifest = put(
        tmp_path / "agent",
        'python3 -c "import sys; print(sys.version_info[:2])"; echo "$UV_PYTHON"',
        "[runtimes]",
        f'python = "{major}.{minor}"',
    )

    made = await ensure_installed(manifest, home=home, sandbox=sandbox)

    *_, version, uv_python = made.log.read_text().splitlines()
    assert version == f"({major}, {minor})"
    assert made.path_entries[0] == str(Path(uv_python).parent)


def a_node(folder: Path, version: str) -> Path:
    path = folder / "bin" / "node"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho v{version}\n")
    path.chmod(0o755)
    return path


def test_node_is_found_on_path_and_among_those_that_were_fetched(tmp_path: Path, home: Home) -> None:
    old, shim = a_node(tmp_path / "old", "20.1.0"), a_node(tmp_path / "shims", "24.0.0")
    a_node(home.runtimes / "node-22.9.0", "22.9.0")
    newest = a_node(home.runtimes / "node-22.10.0", "22.10.0")
    (tmp_path / "shims" / "bin").rename(tmp_path / "moved")
    (tmp_path / "moved").rename(tmp_path / "shims" / "shims")
    environ = {"PATH": f"{tmp_path}/shims/shims:{old.parent}:{tmp_path}/nowhere"}

    def found(wanted: str) -> Path | None:
        node = find_node(Constraint.parse(wanted), environ, home)
        return node and node.path

    assert shim.name == "node"
    assert [found(wanted) for wanted in ("20", ">=22", ">=24")] == [old, newest, None]


def test_python_that_benchflow_runs_on_is_found_below_its_environment() -> None:
    version = ".".join(map(str, sys.version_info[:3]))

    found = find_python(Constraint.parse(version), {"PATH": "", "HOME": "/nowhere"})

    assert found is not None
    assert not (found.folder.parent / "pyvenv.cfg").exists()


def test_python_is_found_where_version_managers_keep_them(tmp_path: Path) -> None:
    for folder, version in ((".pyenv/versions/9.8.1", "9.8.1"), (".local/share/uv/python/cpython-9.9.3-x", "9.9.3")):
        path = tmp_path / folder / "bin" / "python3"
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\necho {path} {version}\n")
        path.chmod(0o755)
    environ = {"PATH": "/usr/bin", "HOME": str(tmp_path)}

    found = [find_python(Constraint.parse(wanted), environ) for wanted in ("9.8", "9.9", "9.7")]

    assert [one and one.version for one in found] == ["9.8.1", "9.9.3", None]


@pytest.mark.parametrize(
    ("constraint", "fits", "fits_not", "npm", "pip"),
    [
        ("3.12", ["3.12", "3.12.1"], ["3.1", "3.11", "3.120"], "3.12", "==3.12.*"),
        (">=22", ["22.0.0", "24.1"], ["21.9"], ">=22", ">=22"),
        (">=3.12,<3.14", ["3.12.0", "3.13.9rc1"], ["3.14.0", "3.11.9"], ">=3.12 <3.14", ">=3.12,<3.14"),
        ("> 22 <=24", ["23.0", "24.9.9"], ["22.9", "25.0"], ">22 <=24", ">=23,<25"),
        ("==20.1", ["20.1.7"], ["20.2"], "20.1", "==20.1.*"),
    ],
)
def test_constraint(constraint: str, fits: list[str], fits_not: list[str], npm: str, pip: str) -> None:
    wanted = Constraint.parse(constraint)

    assert [version for version in [*fits, *fits_not] if wanted.allows(version)] == fits
    assert (wanted.for_npm(), wanted.for_pip()) == (npm, pip)


@pytest.mark.parametrize("text", ["", "latest", "^22", ">=", "22 || 24", ">=22,,<24", "v22"])
def test_no_constraint(text: str) -> None:
    with pytest.raises(ValueError, match="must look like"):
        Constraint.parse(text)


def test_how_to_get_names_the_version() -> None:
    assert "uv python install 3.13" in how_to_get("python", ">=3.13,<3.15")


def test_needs_are_where_links_scripts_and_environments_lead(tmp_path: Path) -> None:
    agent, other = tmp_path / "agent", tmp_path / "other"
    for folder in (agent / "bin", agent / "venv", agent / "deep", other / "bin", other / "lib", tmp_path / "data"):
        folder.mkdir(parents=True)
    (other / "bin" / "python3.12").touch()
    (other / "bin" / "python3").symlink_to("python3.12")
    (tmp_path / "alias").symlink_to("other")
    (agent / "bin" / "python").symlink_to(tmp_path / "alias" / "bin" / "python3")
    (agent / "bin" / "script").write_text(f"#!{other}/bin/python3 -s\n")
    (agent / "bin" / "system").write_text("#!/usr/bin/env node\n")
    (agent / "deep" / "inside").symlink_to("../bin/python")
    (agent / "deep" / "data").symlink_to(tmp_path / "data")
    (agent / "deep" / "dangling").symlink_to("nowhere")
    (agent / "venv" / "pyvenv.cfg").write_text(f"home = {tmp_path}/third/bin\n")
    (tmp_path / "third" / "bin").mkdir(parents=True)
    (tmp_path / "third" / "lib").mkdir()

    needs = needed_folders(agent, [], [])

    assert needs == [tmp_path / "alias", tmp_path / "data", other, tmp_path / "third"]


def test_home_of_a_user_is_never_needed_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for prefix in (tmp_path, tmp_path / ".local"):
        (prefix / "bin").mkdir(parents=True)
        (prefix / "lib").mkdir()

    assert folders_behind(tmp_path / "bin" / "tool") == [tmp_path / "bin" / "tool"]
    assert folders_behind(tmp_path / ".local" / "bin" / "tool") == [tmp_path / ".local" / "bin" / "tool"]


def test_own_folders_hold_all_that_our_modules_need() -> None:
    program = "import benchflow, pydantic, sys, os; print(benchflow.__file__, pydantic.__file__, os.__file__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd="/")

    folders = [Path("/usr"), *own_folders()]

    for file in done.stdout.split():
        assert any(Path(file).is_relative_to(folder) for folder in folders)


async def test_agent_on_our_own_python_sees_us_and_another_does_not(
    tmp_path: Path, home: Home, sandbox: ProcessSandbox
) -> None:
    fields: dict[str, Any] = {"name": "x", "install_cmd": "true"}
    ours = manifest_of_code({**fields, "launch_cmd": 'exec "$BENCHFLOW_PYTHON" -m x'}, origin="test")
    other = manifest_of_code({**fields, "launch_cmd": "x"}, origin="test")

    own, foreign = [
        {bind.source for bind in (await ensure_installed(made, home=home, sandbox=sandbox)).binds}
        for made in (ours, other)
    ]

    assert set(own_folders()) <= own
    assert len(foreign) == 1


async def test_unregistered_command_sees_its_program_and_its_files(
    tmp_path: Path, home: Home, sandbox: ProcessSandbox
) -> None:
    for folder in ("venv/bin", "venv/lib", "project"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "python").touch(mode=0o755)
    (tmp_path / "project" / "agent.py").touch()
    manifest = manifest_of_command(
        "python agent.py", cwd=tmp_path / "project", environ={"PATH": f"{tmp_path}/venv/bin"}
    )

    made = await ensure_installed(manifest, home=home, sandbox=sandbox)

    assert [bind.source for bind in made.binds] == [made.folder, tmp_path / "project", tmp_path / "venv"]
    assert made.path_entries[0] == f"{tmp_path}/venv/bin"


async def test_home_that_cannot_be_written_is_an_input_error(tmp_path: Path, sandbox: ProcessSandbox) -> None:
    (tmp_path / "home").write_text("a file")

    with pytest.raises(InputError, match="BENCHFLOW_HOME"):
        await ensure_installed(put(tmp_path / "agent", "true"), home=Home(tmp_path / "home"), sandbox=sandbox)


def test_home_is_where_the_environment_says(tmp_path: Path) -> None:
    assert Home.find({"BENCHFLOW_HOME": str(tmp_path)}).installs == tmp_path / "installs"
    assert Home.find({}).root.name == "benchflow"
