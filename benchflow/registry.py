"""Where agents are found: names, aliases, versions and paths; and `register_agent`, for those that are code.

Nothing is ever run because of its name alone: an unknown name is an error.
"""

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar
from urllib.parse import quote

from benchflow.errors import InputError
from benchflow.machine.home import Home
from benchflow.manifest import BUILT_IN, Manifest, load_manifest
from benchflow.manifests.coded import CodeLevel, code_file, load_code, register_agent
from benchflow.manifests.levels import Claim, Entry, FolderLevel, Level, Problem

__all__ = ["Listing", "Registry", "built_in_folder", "is_path", "register_agent"]

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
            use = f" Use {found.instead} instead." if found.instead else ""
            raise InputError(
                f"{found.name} cannot be run ({found.path}): {found.reason}{use} The next step: {found.next_step}"
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

    def names(self) -> set[str]:
        """Return all names and aliases that are taken."""
        known: set[str] = set()
        for level in self._levels:
            for claim in level.claims(None):
                known.update((claim.name, *claim.aliases) if isinstance(claim, Claim) else ())
        return known

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
        near = difflib.get_close_matches(text, sorted(self.names()), n=3, cutoff=0.5)
        message = f"unknown agent {text!r}; "
        message += f"did you mean {' or '.join(near)}? " if near else ""
        message += "`benchflow agents` lists all of them"
        if (Path(text) / "manifest.toml").is_file() or code_file(Path(text)):
            message += f"; the agent in the folder of that name is ./{text}"
        if " " in text:
            message += "; a command that is no registered agent is run with --command"
        return InputError("\n  ".join([message, *(problem.message for problem in problems)]))


def built_in_folder() -> Path:
    """Return the folder of the manifests that BenchFlow ships: inside the package, or beside it in a checkout."""
    package = Path(__file__).parent
    return package / "acp" if (package / "acp").is_dir() else package.parent / "acp"


def _twice(name: str, claims: Sequence[Claim]) -> str:
    places = ", ".join(claim.place for claim in claims)
    return f"the agent name {name!r} is claimed twice: {places}; rename one, or remove its alias"


def is_path(text: str) -> bool:
    """Say whether an agent's text is the path of a manifest, or of code, and no name."""
    return "/" in text or text.endswith((".toml", ".py")) or text in (".", "..") or text.startswith("~")


def _at_path(text: str) -> Manifest:
    path, _, variant = text.rpartition(":")
    if variant and path and not Path(text).expanduser().exists() and Path(path).expanduser().exists():
        return _load(path).with_variant(variant)
    return _load(text)


def _load(path: str) -> Manifest:
    code = code_file(Path(path).expanduser().absolute())
    return load_code(code) if code else load_manifest(path)


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
