"""Registering an agent: what is good is measured and kept, what is bad gets the verdict that it deserves."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line import Shell, open_shell

from benchflow.machine.home import Home
from benchflow.manifest import load_manifest
from benchflow.registering.every import register_every
from benchflow.registering.register import Measuring

FAKE = f"{sys.executable} -I -m benchflow.agents.fake"
STEPS = [
    "install",
    "initialize",
    "session",
    "model",
    "scenario",
    "second_prompt",
    "cancel",
    "permission",
    "upstream_401",
    "shutdown",
]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return open_shell(tmp_path)


def measured(shell: Shell, *words: str, sandbox: str = "process") -> tuple[int, dict[str, Any]]:
    """Measure an agent; return the exit code and what `--json` says."""
    ended = shell.run("register", *words, "--sandbox", sandbox, "--json")
    assert ended.stdout, ended.stderr
    return ended.returncode, json.loads(ended.stdout)


def verdicts(found: dict[str, Any]) -> dict[str, str]:
    return {step["name"]: step["verdict"] for step in found["evidence"]["steps"]}


def test_bundled_agent_is_native_and_its_evidence_is_kept(shell: Shell) -> None:
    ended = shell.run("register", "mini", "--sandbox", "process")

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[:2] == ["mini: native", "its model calls arrive, and it solves the scenario"]
    assert [line.split()[1] for line in ended.stderr.splitlines() if line[:4] in ("ok  ", "odd ")] == STEPS
    evidence = json.loads((shell.folder / "home" / "evidence" / "mini.json").read_text())
    assert (evidence["agent_name"], evidence["captured"]["main"], evidence["network"]) == ("mini", 5, "gateway")
    listed = {agent["name"]: agent for agent in json.loads(shell.run("agents", "--json").stdout)}
    assert listed["mini"]["tier"] == "native"
    assert listed["mini"]["measured"] == evidence["measured"][:10]


def test_evidence_names_no_place_and_no_user_of_this_machine(shell: Shell) -> None:
    _, found = measured(shell, "mini", "--probe-only")

    text = json.dumps(found["evidence"])
    assert str(shell.folder) not in text
    assert sys.prefix not in text
    assert str(Path.home()) not in text or str(Path.home()) == "/"


def test_probe_only_stores_nothing(shell: Shell) -> None:
    code, found = measured(shell, "mini", "--probe-only")

    assert (code, found["tier"], found["evidence_path"]) == (0, "native", None)
    assert not (shell.folder / "home" / "evidence").exists()
    assert not (shell.folder / "home" / "agents").exists()
    assert list((shell.folder / "home" / "scratch").iterdir()) == []


def test_manifest_of_ones_own_is_stored_with_its_evidence_and_found_from_then_on(shell: Shell) -> None:
    shell.write("mine/manifest.toml", manifest("mine"))

    code, found = measured(shell, "./mine")

    stored = shell.folder / "home" / "agents" / "mine"
    assert (code, found["tier"]) == (0, "wired")
    assert sorted(path.name for path in stored.iterdir()) == ["evidence.json", "manifest.toml"]
    assert sorted(path.name for path in (shell.folder / "mine").iterdir()) == ["manifest.toml"]
    listed = {agent["name"]: agent for agent in json.loads(shell.run("agents", "--json").stdout)}
    assert (listed["mine"]["tier"], listed["mine"]["origin"]) == ("wired", "user")
    assert (
        found["parity"]
        == listed["mine"]["parity"]
        == {"answer": "never", "stale": None, "measured": None, "record": None}
    )
    assert shell.row("mine", "--sandbox", "process")["tier"] == "wired"


def test_in_place_keeps_the_evidence_beside_the_manifest_and_an_edit_makes_it_stale(shell: Shell) -> None:
    path = shell.write("mine/manifest.toml", manifest("mine"))
    code, found = measured(shell, "./mine", "--in-place")
    assert (code, found["evidence_path"]) == (0, str(shell.folder / "mine" / "evidence.json"))
    assert not (shell.folder / "home" / "agents").exists()

    fresh = json.loads(shell.run("agents", "show", "./mine", "--json").stdout)
    path.write_text(path.read_text().replace("[client]", 'description = "edited"\n[client]'))
    stale = json.loads(shell.run("agents", "show", "./mine", "--json").stdout)

    assert (fresh["tier"], stale["tier"]) == ("wired", "unmeasured")
    assert fresh["measured"] == stale["measured"]


def test_registering_again_replaces_ones_own(shell: Shell) -> None:
    shell.write("mine/manifest.toml", manifest("mine"))
    assert measured(shell, "./mine")[0] == 0
    shell.write("mine/manifest.toml", manifest("mine", "no-model-call"))

    code, found = measured(shell, "./mine")

    assert (code, found["tier"]) == (0, "catalog")
    assert "no-model-call" in (shell.folder / "home" / "agents" / "mine" / "manifest.toml").read_text()


def test_tier_lower_than_claimed_is_exit_code_1(shell: Shell) -> None:
    shell.write("mine/manifest.toml", manifest("mine", "no-model-call", claimed_tier="wired"))

    code, found = measured(shell, "./mine", "--probe-only")

    assert (code, found["tier"], found["claimed_tier"]) == (1, "catalog", "wired")


def manifest(name: str, variant: str = "trivial", **fields: str) -> str:
    more = "".join(f'{key} = "{value}"\n' for key, value in fields.items())
    return (
        f'contract_version = "1.1"\nname = "{name}"\ninstall_cmd = "true"\napi_protocol = "openai-completions"\n'
        f"launch_cmd = 'exec \"$BENCHFLOW_PYTHON\" -I -m benchflow.agents.fake {variant}'\n{more}"
        "[client]\nhandshake_timeout_s = 20\n"
    )


@pytest.mark.parametrize(
    ("command", "code", "tier", "step", "says"),
    [
        (f"{FAKE} trivial", 0, "wired", None, ""),
        (f"{FAKE} noise", 0, "wired", None, ""),
        (f"{FAKE} daemon", 0, "wired", None, ""),
        (f"{FAKE} late-cancel", 0, "wired", None, ""),
        (f"{FAKE} no-model-call", 0, "catalog", "model", "no model call reached the gateway"),
        (f"{FAKE} wants-login", 0, "vendor-locked", "session", "demands authentication"),
        (f"{FAKE} hangs-on-initialize", 3, "unmeasured", "initialize", "no answer to initialize within 3 s"),
        (f"{FAKE} crash-at-start", 3, "unmeasured", "initialize", "exited with status"),
        (f"{FAKE} error-on-session-new", 3, "unmeasured", "session", "session/new with an error"),
        (f"{FAKE} other-version", 3, "unmeasured", "initialize", "version"),
        (f"{FAKE} crash-on-prompt", 0, "catalog", "scenario", "exited"),
        ("sleep 1000", 3, "unmeasured", "initialize", "no answer to initialize within 3 s"),
        ("sh -c 'printf \"login: \"; exec cat'", 3, "unmeasured", "initialize", "initialize"),
        ("bash --norc -i", 3, "unmeasured", "initialize", "initialize"),
        ("sh -c 'setsid sleep 1000 & exit 0'", 3, "unmeasured", "initialize", "exited with status 0"),
        ("no-such-program --acp", 3, "unmeasured", "initialize", "no-such-program"),
    ],
)
def test_command_gets_the_verdict_that_it_deserves(
    shell: Shell, command: str, code: int, tier: str, step: str | None, says: str
) -> None:
    words = ("--command", command, "--name", "subject", "--timeout", "3")

    got, found = measured(shell, *words)

    failed = [found for found in found["evidence"]["steps"] if found["verdict"] == "fail"]
    assert (got, found["tier"]) == (code, tier)
    assert [failure["name"] for failure in failed][:1] == ([step] if step else [])
    if step:
        assert says in failed[0]["detail"]
        assert failed[0]["remedy"]
    assert [name for name in STEPS if name in verdicts(found)] == STEPS
    assert list((shell.folder / "home" / "scratch").iterdir()) == []
    assert _alive_below(shell.folder) == []


def _alive_below(folder: Path) -> list[str]:
    """Return the commands of living processes that have the folder in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            environ = Path("/proc", pid, "environ").read_bytes()
            command = Path("/proc", pid, "cmdline").read_bytes()
        except OSError:
            continue
        if os.fsencode(folder) in environ and int(pid) != os.getpid():
            found.append(command.replace(b"\0", b" ").decode(errors="replace"))
    return found


def test_secret_that_an_agent_was_given_is_in_no_evidence_and_in_no_output(shell: Shell) -> None:
    key = "correct-horse-battery-9"
    text = manifest("mine").replace("[client]", 'requires_env = ["SOME_KEY"]\n[client]')
    leak = "echo it is $SOME_KEY >&2; exit 3"
    shell.write(
        "mine/manifest.toml",
        "\n".join(f"launch_cmd = '{leak}'" if line.startswith("launch_cmd") else line for line in text.splitlines()),
    )

    ended = shell.run("register", "./mine", "--sandbox", "process", environ={"SOME_KEY": key})

    assert ended.returncode == 3, ended.stderr
    assert "it is [redacted:known]" in ended.stderr
    files = [path for path in (shell.folder / "home").rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"evidence.json", "stderr.log"}
    assert [path.name for path in files if key.encode() in path.read_bytes()] == []
    assert key not in ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "name one agent to register"),
        (("mini", "--command", "x", "--name", "y"), "name one agent to register"),
        (("mini", "--name", "y"), "a manifest has a name of its own"),
        (("nobody-knows-it",), "unknown agent 'nobody-knows-it'"),
        (("./nothing",), "there is no such manifest"),
        (("--command", "cat"), "say with --name"),
        (("--command", "cat", "--name", "../up"), "is no name for an agent"),
        (("--command", "cat", "--name", "mini"), "the name 'mini' is taken by"),
        (("./other-major",), "`contract_version` is 2.0"),
        (("./same-name",), "the name 'mini' is taken by"),
        (("./needs-newer",), "node"),
        (("./needs-variable",), "SOME_KEY"),
        (("--from", "nothing.json#x"), "No such file"),
        (("--from", "agents.json#ech"), "did you mean `echo`?"),
        (("--from", "agents.json#odd"), "is distributed as docker"),
        (("--from", "not.json"), "no JSON"),
        (("--all", "mini"), "name none beside it"),
    ],
)
def test_bad_input_is_named_with_its_remedy(shell: Shell, words: tuple[str, ...], says: str) -> None:
    shell.write("other-major/manifest.toml", manifest("x").replace('"1.1"', '"2.0"'))
    shell.write("same-name/manifest.toml", manifest("mini"))
    shell.write("needs-newer/manifest.toml", manifest("x") + '[runtimes]\nnode = ">=99"\n')
    shell.write(
        "needs-variable/manifest.toml", manifest("x").replace("[client]", 'requires_env = ["SOME_KEY"]\n[client]')
    )
    shell.write("agents.json", json.dumps({"agents": [entry("echo"), {"id": "odd", "distribution": {"docker": {}}}]}))
    shell.write("not.json", "{")

    ended = shell.run("register", *words)

    assert ended.returncode == 2, (ended.stdout, ended.stderr)
    assert says in ended.stderr
    assert ended.stderr.count("error:") == 1
    assert not (shell.folder / "home" / "agents").exists()


def entry(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "version": "1.2.3",
        "description": 'says "what" it is told',
        "license": "MIT",
        "website": "https://example.org",
        "distribution": {"uvx": {"package": f"{name}-acp[all]@1.2.3", "args": ["--acp"], "env": {"A": "b"}}},
    }


def test_entry_of_a_public_registry_becomes_a_manifest(shell: Shell) -> None:
    shell.write("one.json", json.dumps(entry("no-such-agent-at-all")))

    code, found = measured(shell, "--from", "one.json")

    assert (code, found["tier"], verdicts(found)["install"]) == (3, "unmeasured", "fail")
    text = (shell.folder / "home" / "agents" / "no-such-agent-at-all" / "manifest.toml").read_text()
    assert "'no-such-agent-at-all-acp[all]==1.2.3'" in text
    assert 'launch_cmd = "exec \\"$BENCHFLOW_AGENT_DIR/venv/bin/no-such-agent-at-all-acp\\" --acp"' in text
    assert 'OPENAI_BASE_URL = "${BENCHFLOW_GATEWAY_URL}/v1"' in text
    assert 'A = "b"' in text


async def test_many_agents_are_measured_at_once_and_each_has_its_outcome(tmp_path: Path) -> None:
    manifests = []
    for name, variant, more in (("one", "trivial", ""), ("two", "crash-at-start", ""), ("three", "trivial", "KEY")):
        text = manifest(name, variant).replace(
            "[client]", f'requires_env = ["{more}"]\n[client]' if more else "[client]"
        )
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.toml").write_text(text)
        manifests.append(load_manifest(tmp_path / name))
    how = Measuring(
        home=Home(tmp_path / "home"),
        environ={"PATH": os.environ["PATH"]},
        sandbox="process",
        on_begin=lambda _: None,
        on_step=lambda _: None,
    )
    ended: list[str] = []

    outcomes = await register_every(
        manifests, how, at_once=2, keep=True, in_place=True, on_end=lambda outcome: ended.append(outcome.manifest.name)
    )

    tiers = [outcome.registered.measurement.tier if outcome.registered else None for outcome in outcomes]
    assert tiers == ["wired", "unmeasured", None]
    assert "KEY" in str(outcomes[2].error)
    assert sorted(ended) == ["one", "three", "two"]
    assert (tmp_path / "one" / "evidence.json").is_file()
