"""From the names of modes to what they vary: out of a file, or from somebody's resolver, before anything starts."""

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from benchflow.contracts import McpServer, ModeConfig, ModeResolver
from benchflow.errors import InputError
from benchflow.installing.needs import needed_folders
from benchflow.installing.runtimes import is_of_system, outermost, own_folders
from benchflow.mode import BASELINE, BASELINE_NAME, Mode, Skill
from benchflow.mode_file import McpServerText, ModesText, ModeText
from benchflow.model import parse, suggest
from benchflow.scenario import files_below
from benchflow.strict import read_toml

MODES_FILE = "modes.toml"
"""Looked for where BenchFlow is started, when no other file is named."""

_SET_BY_US = frozenset({"HOME", "PATH", "PWD", "TMPDIR"})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_HERE = "${BENCHFLOW_MODE_DIR}"
_VARIABLE = re.compile(r"\$\{(BENCHFLOW_[A-Z0-9_]+)\}")
_EXPANDS = tuple(f"BENCHFLOW_{name}" for name in ("AGENT_DIR", "AGENT_HOME", "MODE_DIR", "PYTHON", "WORKSPACE"))
"""What may stand in the texts of an MCP server."""


@dataclass(frozen=True, kw_only=True)
class Modes:
    """Where modes are looked for, in this order."""

    texts: Mapping[str, ModeText] = field(default_factory=dict)
    place: Path = Path(MODES_FILE)
    """The file that the texts are from."""
    resolvers: Sequence[ModeResolver] = ()
    environ: Mapping[str, str] = field(default_factory=dict)

    def find(self, name: str) -> Mode:
        """Return the mode of this name. Raises InputError, and must not be called in an event loop with resolvers."""
        if name == BASELINE_NAME:
            return BASELINE
        if not _NAME.fullmatch(name):
            raise InputError(f"--mode {name!r}: a name is letters, digits, dots, - and _; rename the mode")
        place = f"{self.place}: modes.{name}"
        text = self.texts.get(name)
        if text is None:
            place = f"--mode {name}"
            text = self._resolve(name)
        return _Reading(place=place, folder=self.place.absolute().parent, environ=self.environ).mode(name, text)

    def _resolve(self, name: str) -> ModeText:
        for resolver in self.resolvers:
            config = _ask(resolver, name)
            if config is None:
                continue
            given: dict[str, Any] = {"environment": dict(config.environment), **config.provider_overrides}
            if config.system_instructions is not None:
                given["instructions"] = config.system_instructions
            return parse(ModeText, given, f"--mode {name}, as {type(resolver).__name__} resolves it")
        known = [BASELINE_NAME, *self.texts]
        where = f"in {self.place}" if self.texts else f"without a {MODES_FILE} here, or another file by --modes"
        raise InputError(f"there is no mode `{name}` {where}; {suggest(name, known)}")


def _ask(resolver: ModeResolver, name: str) -> ModeConfig | None:
    """Ask a resolver for a mode; None: it knows of none. Raises InputError where it fails."""
    who = f"--mode {name}: the resolver {type(resolver).__name__}"
    try:
        config = anyio.run(resolver.resolve, name)
    except LookupError:
        return None
    except Exception as exc:  # it is somebody else's code
        raise InputError(f"{who} failed: {type(exc).__name__}: {exc}; mend it, or leave it out") from exc
    if not isinstance(config, ModeConfig):
        raise InputError(f"{who} returned {type(config).__name__}; it returns a ModeConfig, or raises LookupError")
    for key in ("environment", "provider_overrides"):
        if not isinstance(getattr(config, key), Mapping):
            raise InputError(f"{who} returned a ModeConfig whose `{key}` is no mapping; leave it out, or give one")
    return config


def read_modes(path: Path | None, wanted: Sequence[str]) -> tuple[Mapping[str, ModeText], Path]:
    """Read the file of modes, and return them with where it is.

    None: the one in this folder, if there is one and `wanted` names more than the baseline. Raises InputError.
    """
    file = path or Path(MODES_FILE)
    if path is None and (set(wanted) <= {BASELINE_NAME} or not file.is_file()):
        return {}, file
    modes = _texts(file)
    if BASELINE_NAME in modes:
        raise InputError(f"{file}: modes.{BASELINE_NAME}: is the mode that varies nothing; give yours another name")
    if path is not None and set(wanted) <= {BASELINE_NAME}:
        raise InputError(f"--modes {file}: no mode of it was named; name some with --mode: {', '.join(sorted(modes))}")
    return modes, file


def _texts(file: Path) -> Mapping[str, ModeText]:
    """Read the tables of a file of modes, or of one for `run --config` that has some. Raises InputError."""
    data = read_toml(file)
    if "modes" in data and len(data) > 1:
        from benchflow.runner.config import read_modes_of  # a file of modes alone needs no other model

        return read_modes_of(data, file)
    return parse(ModesText, data, file).modes


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """Makes a mode of its text, with what it names looked for on this machine."""

    place: str
    folder: Path
    environ: Mapping[str, str]

    def mode(self, name: str, text: ModeText) -> Mode:
        for variable in (*text.environment, *text.requires_env):
            if variable in _SET_BY_US or variable.startswith("BENCHFLOW_"):
                raise InputError(f"{self.place}: `{variable}` is set by BenchFlow itself; leave it out")
        given = self._given(text.requires_env)
        skills = tuple(self._skill(skill) for skill in text.skills)
        if twice := [skill for skill, number in Counter(skill.name for skill in skills).items() if number > 1]:
            raise InputError(f"{self.place}: `skills` has two of the name {twice[0]}, and agents tell them by it")
        servers = [(server, self._given(server.requires_env)) for server in text.mcp_servers]
        return Mode(
            name=name,
            environment={**text.environment, **given},
            instructions=text.instructions,
            instructions_as=text.instructions_as,
            mcp_servers=tuple(self._server(server, secret) for server, secret in servers),
            skills=skills,
            folders=tuple(outermost(self._shown(text))),
            model=text.model,
            secrets=tuple(value for values in (given, *(secret for _, secret in servers)) for value in values.values()),
        )

    def _given(self, names: Sequence[str]) -> dict[str, str]:
        """Return variables of the user's environment. Raises InputError that names the missing ones."""
        missing = [name for name in names if not self.environ.get(name)]
        if missing:
            raise InputError(f"{self.place}: `requires_env` names {', '.join(missing)}; set it where BenchFlow starts")
        return {name: self.environ[name] for name in names}

    def _server(self, server: McpServerText, secret: Mapping[str, str]) -> McpServer:
        for name in _VARIABLE.findall(" ".join((server.command, *server.args, *server.env.values()))):
            if name not in _EXPANDS:
                raise InputError(f"{self.place}: mcp_servers.{server.name}: `{name}`: {suggest(name, _EXPANDS)}")
        return McpServer(
            name=server.name,
            command=str(self._program(server) or server.command),
            args=[argument.replace(_HERE, str(self.folder)) for argument in server.args],
            env={**{name: value.replace(_HERE, str(self.folder)) for name, value in server.env.items()}, **secret},
        )

    def _program(self, server: McpServerText) -> Path | None:
        """Return where the server's program is on this machine; None: it is looked for on the agent's PATH.

        Raises InputError where it is not there.
        """
        command = server.command.replace(_HERE, str(self.folder))
        if "/" not in command or command.startswith("${"):
            return None
        program = self.folder / command
        if not os.access(program, os.X_OK) or program.is_dir():
            raise InputError(f"{self.place}: mcp_servers.{server.name}: {program} is no program that can be run")
        return program

    def _skill(self, text: str) -> Skill:
        folder = (self.folder / text).resolve()
        if not (folder / "SKILL.md").is_file():
            raise InputError(f"{self.place}: `skills` has {text!r}, and there is no {folder / 'SKILL.md'}")
        digest = hashlib.sha256()
        for file in files_below(folder):
            digest.update(os.fsencode(file.relative_to(folder)) + b"\0" + hashlib.sha256(file.read_bytes()).digest())
        return Skill(folder=folder, digest=digest.hexdigest())

    def _shown(self, text: ModeText) -> Iterator[Path]:
        """Yield what an agent must see to use the mode. Raises InputError for a folder that is not there."""
        for name in text.folders:
            if not (self.folder / name).is_dir():
                raise InputError(f"{self.place}: `folders` has {name!r}, and {self.folder / name} is no folder")
            yield (self.folder / name).resolve()
        for server in text.mcp_servers:
            program = self._program(server)
            if program is not None:
                yield from needed_folders(program.parent, (), [program])
                if not is_of_system(program):
                    yield program.parent
            if any("BENCHFLOW_PYTHON" in word for word in (server.command, *server.args, *server.env.values())):
                yield from own_folders()
