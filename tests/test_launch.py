import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchflow.errors import InputError
from benchflow.hosting.launch import (
    LaunchValues,
    agent_environment,
    canonical_variables,
    expand,
    launch_argv,
    required_values,
    write_home,
)
from benchflow.manifest import Manifest, manifest_of_code
from benchflow.session.model import model_name

VALUES = LaunchValues(
    gateway_url="http://127.0.0.1:4141",
    base_url="http://127.0.0.1:8080/v1",
    api_key="bf-key",
    model="gpt-5",
    provider="openai",
    agent_dir="/installs/x",
    home="/home/agent",
    workspace="/workspace",
    python="/usr/bin/python3",
)


def manifest(**fields: Any) -> Manifest:
    return manifest_of_code({"name": "x", "install_cmd": "true", "launch_cmd": "run", **fields}, origin="test")


def environment(made: Manifest, **environ: str) -> dict[str, str]:
    return agent_environment(made, canonical_variables(made, VALUES), path="/usr/bin", tmp="/tmp", environ=environ)


def test_environment_holds_nothing_but_what_is_listed() -> None:
    made = manifest(
        api_protocol="openai-completions",
        env_mapping={"BENCHFLOW_PROVIDER_BASE_URL": "OPENAI_BASE_URL", "BENCHFLOW_NO_SUCH_THING": "OTHER"},
        env={"CONFIG": "${BENCHFLOW_PROVIDER_MODEL} at $HOME", "NO_COLOR": "1"},
        requires_env=["TOKEN"],
        version="1.2",
    )

    got = environment(made, TOKEN="secret", NODE_OPTIONS="--inspect", HTTPS_PROXY="http://p", PIP_INDEX_URL="http://i")

    assert got == {
        "PATH": "/usr/bin",
        "HOME": "/home/agent",
        "TMPDIR": "/tmp",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "USER": "agent",
        "TERM": "dumb",
        "PYTHONHASHSEED": "0",
        "TOKEN": "secret",
        "OPENAI_BASE_URL": "http://127.0.0.1:8080/v1",
        "CONFIG": "gpt-5 at $HOME",
        "NO_COLOR": "1",
        "BENCHFLOW_PROVIDER_BASE_URL": "http://127.0.0.1:8080/v1",
        "BENCHFLOW_GATEWAY_URL": "http://127.0.0.1:4141",
        "BENCHFLOW_PROVIDER_API_KEY": "bf-key",
        "BENCHFLOW_PROVIDER_MODEL": "gpt-5",
        "BENCHFLOW_PROVIDER_NAME": "openai",
        "BENCHFLOW_PROVIDER_PROTOCOL": "openai-completions",
        "BENCHFLOW_AGENT_DIR": "/installs/x",
        "BENCHFLOW_AGENT_HOME": "/home/agent",
        "BENCHFLOW_AGENT_VERSION": "1.2",
        "BENCHFLOW_WORKSPACE": "/workspace",
        "BENCHFLOW_PYTHON": "/usr/bin/python3",
    }


def test_missing_required_variable_is_named() -> None:
    with pytest.raises(InputError, match=r"requires_env.*TOKEN.*not set"):
        environment(manifest(requires_env=["TOKEN"]))
    with pytest.raises(InputError, match="TOKEN"):
        required_values(manifest(requires_env=["TOKEN"]), {"TOKEN": ""})


def test_required_variable_that_the_gateway_fills_is_never_the_users_own() -> None:
    made = manifest(requires_env=["API_KEY"], env_mapping={"BENCHFLOW_PROVIDER_API_KEY": "API_KEY"})

    assert environment(made, API_KEY="the real one")["API_KEY"] == "bf-key"
    assert required_values(made, {}) == {}


def test_variant_reaches_the_agent() -> None:
    made = manifest(variants=["slow"]).with_variant("slow")

    assert environment(made)["BENCHFLOW_AGENT_VARIANT"] == "slow"


@given(st.text(st.characters(codec="utf-8")))
def test_nothing_but_our_variables_expands(text: str) -> None:
    if "${BENCHFLOW_" not in text:
        assert expand(text, {"BENCHFLOW_A": "a"}, "here") == text
    assert expand(f"${{BENCHFLOW_A}}{text.replace('$', '')}", {"BENCHFLOW_A": "$HOME"}, "here").startswith("$HOME")


@pytest.mark.parametrize("text", ["$BENCHFLOW_A", "${BENCHFLOW_A:-x}", "$(BENCHFLOW_A)", "$${HOME}", "{BENCHFLOW_A}"])
def test_other_forms_are_left_alone(text: str) -> None:
    assert expand(text, {"BENCHFLOW_A": "a"}, "here") == text


def test_unknown_variable_is_an_error_that_names_the_place() -> None:
    with pytest.raises(InputError, match=r"`env\.A`: there is no variable `BENCHFLOW_MODEL`; did you mean"):
        environment(manifest(env={"A": "${BENCHFLOW_MODEL}"}))


def test_home_gets_its_folders_and_files(tmp_path: Path) -> None:
    made = manifest(
        home_dirs=[".x", "$HOME/.y/z", "~/.w"],
        home_files={".x/config.json": '{"model": "${BENCHFLOW_PROVIDER_MODEL}", "key": "${KEY}"}'},
    )

    write_home(made, canonical_variables(made, VALUES), tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == [".w", ".x", ".y"]
    assert (tmp_path / ".y" / "z").is_dir()
    assert (tmp_path / ".x" / "config.json").read_text() == '{"model": "gpt-5", "key": "${KEY}"}'


@pytest.mark.parametrize("folder", ["/etc/x", "../x", "$HOME/../x", "$HOME/"])
def test_folder_outside_of_home_is_refused(tmp_path: Path, folder: str) -> None:
    with pytest.raises(InputError, match="home_dirs"):
        write_home(manifest(home_dirs=[folder]), {}, tmp_path)


def run_launch(home: Path, **fields: Any) -> subprocess.CompletedProcess[str]:
    made = manifest(**fields)
    variables = canonical_variables(made, VALUES)
    argv = launch_argv(made, variables)
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(home), **variables}
    return subprocess.run(argv, env=environ, cwd="/", capture_output=True, text=True, input="over stdin", check=False)


def test_launch_command_is_run_by_bash(tmp_path: Path) -> None:
    done = run_launch(tmp_path, launch_cmd='cat; echo " $BENCHFLOW_PROVIDER_MODEL"')

    assert done.stdout == "over stdin gpt-5\n"


def test_prepare_command_runs_in_home_and_keeps_off_stdio(tmp_path: Path) -> None:
    done = run_launch(
        tmp_path, prepare_cmd="cat; echo '${BENCHFLOW_PROVIDER_MODEL}' > model; echo noise", launch_cmd="cat; pwd"
    )

    assert (done.stdout, done.stderr) == ("over stdin/\n", "noise\n")
    assert (tmp_path / "model").read_text() == "gpt-5\n"


def test_failing_prepare_command_is_not_followed_by_the_agent(tmp_path: Path) -> None:
    done = run_launch(tmp_path, prepare_cmd="exit 3", launch_cmd="echo started")

    assert (done.returncode, done.stdout) == (1, "")
    assert "prepare_cmd failed with status 3" in done.stderr


@pytest.mark.parametrize(
    ("form", "model", "written"),
    [
        ("bare", "gpt-5", "gpt-5"),
        ("bare", "deepseek/chat", "deepseek/chat"),
        ("provider/model", "gpt-5", "openai/gpt-5"),
        ("provider/model", "openai/gpt-5", "openai/gpt-5"),
        ("registered-provider/model", "deepseek/chat", "openai/deepseek/chat"),
    ],
)
def test_model_is_written_as_the_agent_wants_it(form: str, model: str, written: str) -> None:
    assert model_name(model, manifest(acp_model_format=form).acp_model_format, "openai") == written
