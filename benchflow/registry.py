"""Where manifests are found: names, aliases, versions and paths; and `register_agent`, for agents that are code.

Nothing is ever run because of its name alone: an unknown name is an error.
"""

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar
from urllib.parse import quote

from benchflow.errors import InputError
from benchflow.machine.home import Home
from benchflow.manifest import BUILT_IN, Manifest, load_manifest, manifest_of_code
from benchflow.manifests.levels import Claim, Entry, FolderLevel, Level, Problem

ENTRY_POINTS = "benchflow.agents"
"""The entry point group of packages that bring agents: a module, or a callable, that calls `register_agent`."""


class CodeLevel:
    """The agents that were registered by code, those of installed packages included."""

    def claims(self, name: str | None) -> Iterator[Claim | Problem]:
        yield from _load_entry_points()
        for manifest in _registered:
            yield Claim(
                name=manifest.name,
                aliases=manifest.aliases,
                version=manifest.version,
                place=manifest.place,
                load=lambda found=manifest: found,
            )


Found = TypeVar("Found", Manifest, Entry, Manifest | Entry)


@dataclass(frozen=True, kw_only=True)
class Listing:
    """All agents, each under the place that wins, and what could not be read."""

    agents: Sequence[Manifest | Entry]
    problems: Sequence[str]


class Registry:
    """Looks up agents, in the order of its levels; a name found in one hides it in those after."""

    def __init__(self, levels: Sequence[Level], evidence: Path) -> None:
        self._levels = levels
        self._evidence = evidence

    @classmethod
    def open(cls, *, agents_dir: Path | None = None, environ: Mapping[str, str] = os.environ) -> Self:
        """Return the registry of this machine. Raises InputError for a folder that is named but does not exist."""
        named = {"--agents-dir": agents_dir, "$BENCHFLOW_AGENTS_DIR": environ.get("BENCHFLOW_AGENTS_DIR")}
        levels: list[Level] = []
        for origin, folder in named.items():
            if folder:
                path = Path(folder).expanduser().absolute()
                if not path.is_dir():
                    raise InputError(f"{origin}: there is no folder {path}")
                levels.append(FolderLevel(origin=origin, folder=path))
        home = Home.find(environ)
        levels.append(FolderLevel(origin="user", folder=home.agents))
        levels += [CodeLevel(), FolderLevel(origin=BUILT_IN, folder=built_in_folder())]
        return cls(levels, home.evidence)

    def find(self, text: str) -> Manifest:
        """Return the manifest of `name`, `name@version`, `name:variant` or a path.

        Raises InputError, with the nearest names, for anything else, and for an agent that has no manifest.
        """
        found = self.look_up(text)
        if isinstance(found, Entry):
            raise InputError(
                f"{found.name} cannot be run ({found.path}): {found.reason} The next step: {found.next_step}"
            )
        return found

    def look_up(self, text: str) -> Manifest | Entry:
        """As `find`, but also return entries of agents that have no manifest."""
        if is_path(text):
            return self._measured(_at_path(text))
        problems: list[Problem] = []
        for name, version, variant in _readings(text):
            claim = self._claim(name, version, problems)
            if claim is not None:
                found = self._measured(claim.load())
                return found.with_variant(variant) if variant and isinstance(found, Manifest) else found
        raise self._unknown(text, problems)

    def listing(self) -> Listing:
        """Return every agent once, by name."""
        agents: dict[str, Manifest | Entry] = {}
        problems: list[str] = []
        for level in self._levels:
            claimed: dict[str, Claim] = {}
            for claim in level.claims(None):
                if isinstance(claim, Problem):
                    problems.append(claim.message)
                    continue
                problems += [
                    _twice(name, [claimed[name], claim]) for name in {claim.name, *claim.aliases} if name in claimed
                ]
                claimed |= dict.fromkeys((claim.name, *claim.aliases), claim)
                try:
                    agents.setdefault(claim.name, self._measured(claim.load()))
                except InputError as error:
                    problems.append(str(error))
        return Listing(agents=sorted(agents.values(), key=lambda agent: agent.name), problems=problems)

    def _measured(self, agent: Found) -> Found:
        """Let a manifest know where evidence of it may stand on this machine."""
        if isinstance(agent, Entry):
            return agent
        return agent.model_copy(update={"local_evidence": self._evidence / f"{quote(agent.name, safe='')}.json"})

    def _claim(self, name: str, version: str | None, problems: list[Problem]) -> Claim | None:
        others: list[Claim] = []
        for level in self._levels:
            claims: list[Claim] = []
            for claim in level.claims(name):
                if isinstance(claim, Claim):
                    claims += [claim] if name in (claim.name, *claim.aliases) else []
                elif claim.name == name:
                    raise InputError(claim.message)
                else:
                    problems.append(claim)
            if len(claims) > 1:
                raise InputError(_twice(name, claims))
            if claims and version in (None, claims[0].version):
                return claims[0]
            others += claims
        if others:
            known = "; ".join(f"{claim.version or 'no version'} ({claim.place})" for claim in others)
            raise InputError(f"{name}@{version}: there is no manifest of that version, only {known}")
        return None

    def _unknown(self, text: str, problems: list[Problem]) -> InputError:
        known: set[str] = set()
        for level in self._levels:
            for claim in level.claims(None):
                known.update((claim.name, *claim.aliases) if isinstance(claim, Claim) else ())
        near = difflib.get_close_matches(text, sorted(known), n=3, cutoff=0.5)
        message = f"unknown agent {text!r}; "
        message += f"did you mean {' or '.join(near)}? " if near else ""
        message += "`benchflow agents` lists all of them"
        if (Path(text) / "manifest.toml").is_file():
            message += f"; the manifest in the folder of that name is ./{text}"
        if " " in text:
            message += "; a command that is no registered agent is run with --command"
        return InputError("\n  ".join([message, *(problem.message for problem in problems)]))


_registered: list[Manifest] = []
_loaded: dict[str, Problem | None] = {}
"""The entry points that were loaded, once in a process, and what became of them."""
_origin = "code"


def register_agent(
    name: str,
    install_cmd: str,
    launch_cmd: str,
    protocol: str = "acp",
    *,
    api_protocol: str | None = None,
    env_mapping: Mapping[str, str] | None = None,
    acp_model_format: str = "bare",
    requires_env: Sequence[str] = (),
    files: Mapping[str, str | Path] | None = None,
    **fields: Any,
) -> Manifest:
    """Register an agent that has no manifest file. Other fields of a manifest may be given by their names.

    `files` are put into the agent's folder before its install: name → text, or the path of a file to copy. Raises
    InputError for a field that is wrong, and for a name that is taken by code already.
    """
    given = dict(fields)
    given |= {"name": name, "install_cmd": install_cmd, "launch_cmd": launch_cmd, "protocol": protocol}
    given |= {"env_mapping": dict(env_mapping or {}), "requires_env": list(requires_env)}
    given |= {"acp_model_format": acp_model_format}
    if api_protocol is not None:
        given["api_protocol"] = api_protocol
    texts = {key: value.read_text() if isinstance(value, Path) else value for key, value in (files or {}).items()}
    manifest = manifest_of_code(given, origin=_origin, files=texts)
    for other in _registered:
        taken = {other.name, *other.aliases} & {manifest.name, *manifest.aliases}
        if taken and other.digest != manifest.digest:
            raise InputError(f"the agent name {sorted(taken)[0]!r} is claimed twice: {other.place}, {manifest.place}")
        if taken:
            return other
    _registered.append(manifest)
    return manifest


def built_in_folder() -> Path:
    """Return the folder of the manifests that BenchFlow ships: inside the package, or beside it in a checkout."""
    package = Path(__file__).parent
    return package / "acp" if (package / "acp").is_dir() else package.parent / "acp"


def _load_entry_points() -> Iterator[Problem]:
    """Load every entry point that was not loaded yet, and yield those that failed."""
    global _origin
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINTS):
        key = f"{point.name} = {point.value}"
        if key not in _loaded:
            _loaded[key] = None
            _origin = f"entry point {key}"
            try:
                if callable(loaded := point.load()):
                    loaded()
            except Exception as exc:  # noqa: BLE001 - foreign code: its bug must not take the other agents away
                message = f"entry point {key}: {type(exc).__name__}: {exc}; fix or uninstall that package"
                _loaded[key] = Problem(name=point.name, message=message)
            finally:
                _origin = "code"
        if problem := _loaded[key]:
            yield problem


def _twice(name: str, claims: Sequence[Claim]) -> str:
    places = ", ".join(claim.place for claim in claims)
    return f"the agent name {name!r} is claimed twice: {places}; rename one, or remove its alias"


def is_path(text: str) -> bool:
    """Say whether an agent's text is the path of a manifest, and no name."""
    return "/" in text or text.endswith(".toml") or text in (".", "..") or text.startswith("~")


def _at_path(text: str) -> Manifest:
    path, _, variant = text.rpartition(":")
    if variant and path and not Path(text).expanduser().exists() and Path(path).expanduser().exists():
        return load_manifest(path).with_variant(variant)
    return load_manifest(text)


def _readings(text: str) -> Iterator[tuple[str, str | None, str | None]]:
    """Yield the ways to read an agent's text: name, version, variant. A name may itself hold `@` or `:`."""
    yield text, None, None
    whole, _, variant = text.rpartition(":")
    for rest, chosen in ((whole, variant), (text, None)):
        if rest and rest != text:
            yield rest, None, chosen
        name, _, version = rest.rpartition("@")
        if name and version:
            yield name, version, chosen
