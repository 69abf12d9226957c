"""Makes a manifest of an entry of a public ACP registry: `{"agents": [{"id", "version", "distribution", ...}]}`.

The form of the document is that of github.com/agentclientprotocol/registry, FORMAT.md. An entry says how an agent is
fetched and started, and nothing of where its model calls go: those variables that most agents know are set for it.
"""

import json
import platform
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchflow.errors import InputError
from benchflow.manifest import CONTRACT
from benchflow.model import suggest
from benchflow.registering.writing import write_manifest

GENERIC_ENV = {
    "OPENAI_BASE_URL": "${BENCHFLOW_GATEWAY_URL}/v1",
    "OPENAI_API_BASE": "${BENCHFLOW_GATEWAY_URL}/v1",
    "OPENAI_API_KEY": "${BENCHFLOW_PROVIDER_API_KEY}",
    "OPENAI_MODEL": "${BENCHFLOW_PROVIDER_MODEL}",
    "ANTHROPIC_BASE_URL": "${BENCHFLOW_GATEWAY_URL}",
    "ANTHROPIC_API_KEY": "${BENCHFLOW_PROVIDER_API_KEY}",
    "ANTHROPIC_MODEL": "${BENCHFLOW_PROVIDER_MODEL}",
    "GOOGLE_GEMINI_BASE_URL": "${BENCHFLOW_GATEWAY_URL}",
    "GEMINI_API_KEY": "${BENCHFLOW_PROVIDER_API_KEY}",
    "GEMINI_MODEL": "${BENCHFLOW_PROVIDER_MODEL}",
}
"""Where agents look, by habit, for the base URL, the key and the model of each dialect."""

_PROGRAMS = Path(__file__).with_name("programs")
"""What installs run: given to the interpreter on its stdin."""


def read_entry(source: str) -> dict[str, Any]:
    """Read `FILE#id`, or a FILE with a single agent. Raises InputError."""
    name, _, wanted = source.partition("#")
    path = Path(name).expanduser()
    try:
        document = json.loads(path.read_bytes())
    except OSError as exc:
        raise InputError(f"--from {name}: {exc.strerror}; name a file, as in --from registry.json#agent-id") from exc
    except ValueError as exc:
        raise InputError(f"--from {name}: no JSON ({exc}); name a registry's document") from exc
    listed = document.get("agents") if isinstance(document, dict) else None
    alone = [document] if listed is None else []
    entries = listed if isinstance(listed, list) else alone
    known = {str(entry["id"]): entry for entry in entries if isinstance(entry, dict) and entry.get("id")}
    if not known:
        raise InputError(f"--from {name}: there are no agents in it; a registry's document has a list `agents`")
    if not wanted and len(known) == 1:
        return next(iter(known.values()))
    if wanted not in known:
        said = f"has no agent {wanted!r}" if wanted else "has several agents; say which one, as in FILE#id"
        raise InputError(f"--from {name}: {said}; {suggest(wanted, known)}")
    return known[wanted]


def manifest_text(entry: Mapping[str, Any], *, source: str) -> str:
    """Return the text of a manifest for the entry. Raises InputError for a distribution that cannot be used here."""
    place = f"--from {source}: {entry.get('id')}"
    distribution = entry.get("distribution")
    if not isinstance(distribution, Mapping):
        raise InputError(f"{place}: has no `distribution`; register it with --command once it is installed")
    if isinstance(distribution.get("npx"), Mapping):
        install, launch, env, runtimes = _from_npm(distribution["npx"], place)
    elif isinstance(distribution.get("uvx"), Mapping):
        install, launch, env, runtimes = _from_pypi(distribution["uvx"], place)
    elif isinstance(distribution.get("binary"), Mapping):
        install, launch, env, runtimes = _from_archive(distribution["binary"], place)
    else:
        kinds = ", ".join(map(str, distribution)) or "nothing"
        raise InputError(f"{place}: is distributed as {kinds}; known are npx, uvx and binary")
    fields: dict[str, Any] = {
        "contract_version": f"{CONTRACT[0]}.{CONTRACT[1]}",
        "name": entry["id"],
        "description": entry.get("description"),
        "version": entry.get("version"),
        "homepage": entry.get("website") or entry.get("repository"),
        "license": entry.get("license"),
        "api_protocol": "openai-completions",
        "install_cmd": install,
        "launch_cmd": launch,
        "runtimes": runtimes,
        "env": {**GENERIC_ENV, **env},
    }
    comment = (
        "Made by `benchflow register --from`. Nothing in the entry said where the agent's model calls go:\n"
        "[env] has the variables that most agents know. Correct it, and api_protocol, where the probe says so."
    )
    return write_manifest({key: value for key, value in fields.items() if value is not None}, comment=comment)


_Parts = tuple[str, str, dict[str, str], dict[str, str]]
"""install_cmd, launch_cmd, variables, runtimes."""


def _from_npm(npx: Mapping[str, Any], place: str) -> _Parts:
    package = _text(npx, "package", place)
    name = re.sub(r"(?<=.)@[^@/]*$", "", package)
    program = str(npx.get("cmd") or "")
    install = f"npm install --prefix . --no-audit --no-fund --no-save --loglevel=error {shlex.quote(package)}\n" + _run(
        "node", "link.cjs", name, program
    )
    return install, f'exec "$BENCHFLOW_AGENT_DIR/bin/agent"{_arguments(npx)}', _variables(npx), {"node": ">=22"}


def _from_pypi(uvx: Mapping[str, Any], place: str) -> _Parts:
    package = _text(uvx, "package", place)
    name = re.split(r"[@=<>~!\[; ]", package)[0]
    wanted = re.sub(r"^([A-Za-z0-9._-]+(?:\[[^\]]*\])?)@(.+)$", r"\1==\2", package)
    program = str(uvx.get("cmd") or name)
    install = (
        "uv venv --quiet --clear --python python3 venv\n"
        f"uv pip install --quiet --compile-bytecode --python venv/bin/python {shlex.quote(wanted)}\n"
    )
    launch = f'exec "$BENCHFLOW_AGENT_DIR/venv/bin/{program}"{_arguments(uvx)}'
    return install, launch, _variables(uvx), {"python": ">=3.11"}


def _from_archive(binary: Mapping[str, Any], place: str) -> _Parts:
    target = _platform()
    if not isinstance(binary.get(target), Mapping):
        raise InputError(f"{place}: has no binary for {target}; {suggest(target, map(str, binary))}")
    build = binary[target]
    url, checksum = _text(build, "archive", place), build.get("sha256") or ""
    program = _text(build, "cmd", place).removeprefix("./")
    note = "" if checksum else "echo 'no checksum is known of this download' >&2\n"
    unpack = _run('"$BENCHFLOW_PYTHON" -I', "unpack.py", url, str(checksum))
    install = f"{note}{unpack}chmod +x dist/{shlex.quote(program)}\n"
    return install, f'exec "$BENCHFLOW_AGENT_DIR/dist/{program}"{_arguments(build)}', _variables(build), {}


def _run(interpreter: str, program: str, *arguments: str) -> str:
    """Return the bash lines that run one of our programs."""
    words = " ".join(map(shlex.quote, arguments))
    return f"{interpreter} - {words} <<'END'\n{(_PROGRAMS / program).read_text()}END\n"


def _text(table: Mapping[str, Any], key: str, place: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise InputError(f"{place}: its distribution has no `{key}`")
    return value


def _arguments(table: Mapping[str, Any]) -> str:
    args = table.get("args")
    return "".join(f" {shlex.quote(str(argument))}" for argument in args) if isinstance(args, list) else ""


def _variables(table: Mapping[str, Any]) -> dict[str, str]:
    env = table.get("env")
    return {str(name): str(value) for name, value in env.items()} if isinstance(env, Mapping) else {}


def _platform() -> str:
    machine = {"arm64": "aarch64", "amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
    return f"{platform.system().lower()}-{machine}"
