"""Finds plugins of every contract: built-in ones and entry points by name, anything else as `module:attribute`.

A plugin is made without arguments: an object is taken as it is, a class or a function is called.
"""

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from benchflow.conformance import MEMBERS, Kind, lacks, misfit
from benchflow.errors import InputError
from benchflow.model import suggest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUPS: Mapping[Kind, str] = {
    "scorer": "benchflow.scorers",
    "collector": "benchflow.collectors",
    "analyzer": "benchflow.analyzers",
    "mode_resolver": "benchflow.mode_resolvers",
    "hooks": "benchflow.hooks",
    "provider": "benchflow.providers",
    "judge": "benchflow.judges",
}
"""The entry point group of each contract."""

BUILT_IN: Mapping[Kind, Mapping[str, str]] = {
    "collector": {
        "token": "benchflow.collectors.token:TokenCollector",
        "latency": "benchflow.collectors.latency:LatencyCollector",
        "cost": "benchflow.collectors.cost:CostCollector",
        "tool-call": "benchflow.collectors.tool_call:ToolCallCollector",
    },
    "analyzer": {
        "reasoning": "benchflow.analyzers.reasoning:ReasoningAnalyzer",
        "strategy": "benchflow.analyzers.strategy:StrategyAnalyzer",
        "efficiency": "benchflow.analyzers.efficiency:EfficiencyAnalyzer",
        "tool-pattern": "benchflow.analyzers.tool_pattern:ToolPatternAnalyzer",
        "error": "benchflow.analyzers.error:ErrorAnalyzer",
    },
    "provider": {"chat": "benchflow.chat.provider:ChatProvider"},
}
"""Those that BenchFlow ships."""

HOOKS = tuple(MEMBERS["hooks"])


def load(kind: Kind, text: str) -> Any:
    """Return the plugin of a kind that `text` names. Raises InputError where it is not there, or of another kind."""
    plugin = _make(find(kind, text), text)
    if missing := lacks(plugin, kind):
        raise InputError(f"{text}: is no {_name(kind)}: it has no {', '.join(f'`{name}`' for name in missing)}")
    _require_fit(plugin, kind, text)
    return plugin


def load_any(text: str) -> tuple[Any, list[Kind]]:
    """Return the plugin at `module:attribute`, and of which kinds it is. Raises InputError where it is of none."""
    plugin = _make(_import(text, text), text)
    kinds: list[Kind] = [kind for kind in GROUPS if kind != "provider" and not lacks(plugin, kind)]
    if not kinds:
        raise InputError(
            f"{text}: is no plugin of any kind; a scorer has `id` and `evaluate`, a collector `id` and `collect`, an "
            "analyzer `name` and `analyze`, a mode resolver `resolve`, and hooks some of " + ", ".join(HOOKS)
        )
    for kind in kinds:
        _require_fit(plugin, kind, text)
    return plugin, kinds


def find(kind: Kind, text: str) -> Callable[[], Any] | Any:
    """Return what `text` names, not yet made. Raises InputError."""
    if ":" in text:
        return _import(text, text)
    built_in = BUILT_IN.get(kind, {})
    if text in built_in:
        return _import(built_in[text], text)
    points = _entry_points(kind)
    found = points.get(text, [])
    if not found:
        known = [*built_in, *points]
        near = f"{suggest(text, known)}; " if known else ""
        raise InputError(f"there is no {_name(kind)} `{text}`; {near}one of your own is named module:attribute")
    if len(found) > 1:
        places = " and ".join(f"{point.value} of {_package(point)}" for point in found)
        raise InputError(f"the {_name(kind)} `{text}` is there twice, {places}; name the one that you mean so")
    return _import(found[0].value, f"{text} ({GROUPS[kind]} of {_package(found[0])}: {found[0].value})")


def _entry_points(kind: Kind) -> "dict[str, list[EntryPoint]]":
    """Return what installed packages declare, by name."""
    from importlib.metadata import entry_points  # reads what every installed package declares

    points: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=GROUPS[kind]):
        same = points.setdefault(point.name, [])
        if point.value not in [other.value for other in same]:  # a package may be found by two ways
            same.append(point)
    return points


def _package(point: "EntryPoint") -> str:
    return point.dist.name if point.dist else "an unknown package"


def _require_fit(plugin: Any, kind: Kind, text: str) -> None:
    if complaint := misfit(plugin, kind):
        raise InputError(f"{text}: is no {_name(kind)} as it stands: {complaint}")


def _import(text: str, named: str) -> Any:
    """Import `module:attribute`, which the user has named so. Raises InputError."""
    module, _, attribute = text.partition(":")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)  # a module that lies beside the user is found, as `python -m` would
    try:
        value = importlib.import_module(module)
        for name in attribute.split("."):
            value = getattr(value, name)
    except Exception as exc:  # whatever a plugin's own module raises when it is imported
        raise InputError(f"{named}: cannot be loaded: {type(exc).__name__}: {exc}; {_remedy(text, named)}") from exc
    return value


def _make(value: Any, text: str) -> Any:
    if not inspect.isclass(value) and not inspect.isroutine(value):
        return value
    try:
        return value()
    except Exception as exc:  # it is somebody else's code
        raise InputError(f"{text}: cannot be made without arguments: {type(exc).__name__}: {exc}") from exc


def _name(kind: Kind) -> str:
    return kind.replace("_", " ")


def _remedy(text: str, named: str) -> str:
    return "name it module:attribute" if text == named else "mend or reinstall the package"
