"""The places where manifests can stand, and what claims a name there."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from benchflow.errors import InputError
from benchflow.manifest import Manifest, Text, manifest_of
from benchflow.model import StrictModel, parse
from benchflow.strict import parse_toml
from benchflow.tiers import ClaimedTier, Measurement


class EntryFields(StrictModel):
    """An `entry.toml`: an agent that is known, but has no manifest."""

    name: Text
    """Unique id."""
    aliases: tuple[Text, ...] = ()
    description: str | None = None
    version: str | None = None
    """The version that was looked at."""
    homepage: str | None = None
    license: str | None = None
    distribution: str | None = None
    """How its makers ship it."""
    claimed_tier: ClaimedTier
    reason: Text
    """Why there is no manifest: a sentence."""
    next_step: Text
    """What would bring it further: a sentence."""
    instead: Text | None = None
    """The agent to use instead, where there is one."""


class Entry(EntryFields):
    """An entry, with where it was found."""

    path: Path
    origin: str

    @property
    def measurement(self) -> Measurement:
        """Its tier, from what the entry declares: without a manifest it can be no more than adaptable."""
        if self.claimed_tier in ("vendor-locked", "out-of-scope"):
            return Measurement(tier=self.claimed_tier, reason=self.reason)
        return Measurement(tier="catalog", reason=self.reason)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Something that wants to be found under a name."""

    name: str
    aliases: tuple[str, ...] = ()
    version: str | None = None
    place: str
    """Where it stands, in messages."""
    load: Callable[[], Manifest | Entry]
    """Raises InputError if it is not valid."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Something that could not be read."""

    name: str
    """The name that it would probably have had."""
    message: str


class Level(Protocol):
    """One place where names are looked up."""

    def claims(self, name: str | None) -> Iterator[Claim | Problem]:
        """Yield all that is there; with `name`, at least what claims it."""
        ...


@dataclass(frozen=True, kw_only=True)
class FolderLevel:
    """A folder with one folder for each agent."""

    origin: str
    folder: Path

    def claims(self, name: str | None) -> Iterator[Claim | Problem]:
        for file in ("manifest.toml", "entry.toml"):
            for path in sorted(self.folder.glob(f"*/{file}")):
                content = path.read_bytes()
                # Parsing every manifest of a large registry would cost more than a whole run may.
                if name is None or name == path.parent.name or name.encode() in content:
                    yield self._claim(path, content)

    def _claim(self, path: Path, content: bytes) -> Claim | Problem:
        try:
            data = parse_toml(content, str(path))
        except InputError as error:
            return Problem(name=path.parent.name, message=str(error))
        aliases = data.get("aliases")
        return Claim(
            name=str(data.get("name", path.parent.name)),
            aliases=tuple(map(str, aliases)) if isinstance(aliases, list) else (),
            version=str(data["version"]) if "version" in data else None,
            place=str(path),
            load=lambda: self._load(data, path),
        )

    def _load(self, data: dict[str, Any], path: Path) -> Manifest | Entry:
        if path.name == "manifest.toml":
            return manifest_of(data, path, origin=self.origin)
        return Entry(**parse(EntryFields, data, path).model_dump(), path=path, origin=self.origin)
