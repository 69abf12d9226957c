"""The plugins of a run, as the user named them, and an agent that is a plugin: whatever a provider runs."""

import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, overload

from benchflow.contracts import Analyzer, Collector, ModeResolver, RunHooks, Scorer, SessionProvider
from benchflow.errors import InputError
from benchflow.plugins import BUILT_IN, Kind, find, load, load_any

Plugin = TypeVar("Plugin")


@dataclass(frozen=True, kw_only=True)
class PluginNames:
    """What the user named: entry points, or `module:attribute`."""

    any: tuple[str, ...] = ()
    """Of the kinds that they are."""
    collectors: tuple[str, ...] = ()
    analyzers: tuple[str, ...] = ()
    mode_resolvers: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Plugins:
    """The plugins of a run, made. The built-in collectors and analyzers are among them."""

    collectors: Sequence[Collector] = ()
    analyzers: Sequence[Analyzer] = ()
    mode_resolvers: Sequence[ModeResolver] = ()
    hooks: Sequence[RunHooks] = ()
    scorers: Mapping[str, Scorer] = field(default_factory=dict)
    """By how they were named; there is one at most."""


class Later(Sequence[Plugin]):
    """A sequence that is made when it is first looked into: what it holds takes time to import."""

    def __init__(self, make: Callable[[], Sequence[Plugin]]) -> None:
        self._make = make
        self._made: Sequence[Plugin] | None = None

    def made(self) -> Sequence[Plugin]:
        """Make it, if it is not made yet."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def __len__(self) -> int:
        return len(self.made())

    @overload
    def __getitem__(self, index: int) -> Plugin: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Plugin]: ...

    def __getitem__(self, index: int | slice) -> Plugin | Sequence[Plugin]:
        return self.made()[index]


@dataclass(frozen=True, kw_only=True)
class PluggedAgent:
    """What a provider of the user's runs, in the place of an agent with a manifest."""

    name: str
    place: str
    """`module:attribute`, or the entry point's name."""
    make: Callable[[], SessionProvider]
    """Makes a provider; each arm has its own."""
    digest: str
    """SHA-256 of the provider's place and its module's text."""
    capabilities: frozenset[str]
    variant: str | None = None
    version: str | None = None
    tier: str = "unmeasured"
    warnings: tuple[str, ...] = ()
    api_protocol: str | None = None
    """The dialect in which it asks its model at the gateway; None: it does not say, or asks elsewhere."""
    default_model: str | None = None

    @property
    def asks_gateway(self) -> bool:
        """Whether its model is asked through the run's gateway."""
        return "gateway" in self.capabilities

    @property
    def label(self) -> str:
        """Its name in rows."""
        return self.name


def load_plugins(names: PluginNames) -> Plugins:
    """Make the plugins. Raises InputError for one that is not there or of no use."""
    found: dict[Kind, list[Any]] = {
        "collector": [load("collector", text) for text in _more("collector", names.collectors)],
        "analyzer": [load("analyzer", text) for text in _more("analyzer", names.analyzers)],
        "mode_resolver": [load("mode_resolver", text) for text in names.mode_resolvers],
        "hooks": [load("hooks", text) for text in names.hooks],
    }
    scorers: dict[str, Scorer] = {}
    for text in names.any:
        plugin, kinds = load_any(text)
        for kind in kinds:
            found.setdefault(kind, []).append(plugin)
            if kind == "scorer":
                scorers[text] = plugin
    if len(scorers) > 1:
        raise InputError(f"{' and '.join(scorers)}: a trial has one verdict; name one scorer, which may ask others")
    return Plugins(
        collectors=Later(lambda: [*_built_in("collector"), *found["collector"]]),
        analyzers=Later(lambda: [*_built_in("analyzer"), *found["analyzer"]]),
        mode_resolvers=found["mode_resolver"],
        hooks=found["hooks"],
        scorers=scorers,
    )


def plug_agent(text: str) -> PluggedAgent:
    """Return the agent that stands for a provider. Raises InputError where it is none, or cannot be made."""
    factory = find("provider", text)
    first: SessionProvider = load("provider", text)
    if factory is first:
        raise InputError(f"{text}: is a provider, and each arm needs its own; name its class, or what makes it")
    source = inspect.getsourcefile(type(first))
    content = Path(source).read_bytes() if source else b""
    return PluggedAgent(
        name=first.id,
        place=text,
        make=factory,
        digest=hashlib.sha256(text.encode() + b"\0" + content).hexdigest(),
        capabilities=frozenset(first.capabilities),
        api_protocol=getattr(first, "api_protocol", None),
    )


def _more(kind: Kind, names: Sequence[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if name not in BUILT_IN[kind]]


def _built_in(kind: Kind) -> list[Any]:
    return [load(kind, name) for name in BUILT_IN[kind]]
