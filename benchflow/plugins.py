"""Finds plugins of every contract: built-in ones and entry points by name, anything else as `module:attribute`.

A plugin is made without arguments: an object is taken as it is, a class or a function is called.
"""

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal

from benchflow.contracts import RunHooks
from benchflow.errors import InputError
from benchflow.model import suggest

Kind = Literal["scorer", "collector", "analyzer", "mode_resolver", "hooks", "provider", "judge"]

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
}
"""Those that BenchFlow ships."""

HOOKS = tuple(name for name in vars(RunHooks) if not name.startswith("_"))
_MEMBERS: Mapping[Kind, tuple[str, ...]] = {
    "scorer": ("id", "evaluate"),
    "collector": ("id", "collect"),
    "analyzer": ("name", "analyze"),
    "mode_resolver": ("resolve",),
    "provider": ("id", "capabilities", "init", "create_session", "prompt", "stop_session", "export_session"),
    "judge": ("id", "judge"),
}


def load(kind: Kind, text: str) -> Any:
    """Return the plugin of a kind that `text` names. Raises InputError where it is not there, or of another kind."""
    plugin = _make(find(kind, text), text)
    if missing := lacks(plugin, kind):
        raise InputError(f"{text}: is no {_name(kind)}: it has no {', '.join(f'`{name}`' for name in missing)}")
    return plugin


def load_any(text: str) -> tuple[Any, list[Kind]]:
    """Return the plugin at `module:attribute`, and of which kinds it is. Raises InputError where it is of none."""
    plugin = _make(_import(text), text)
    kinds: list[Kind] = [kind for kind in GROUPS if kind != "provider" and not lacks(plugin, kind)]
    if not kinds:
        raise InputError(
            f"{text}: is no plugin of any kind; a scorer has `id` and `evaluate`, a collector `id` and `collect`, an "
            "analyzer `name` and `analyze`, a mode resolver `resolve`, and hooks some of " + ", ".join(HOOKS)
        )
    return plugin, kinds


def find(kind: Kind, text: str) -> Callable[[], Any] | Any:
    """Return what `text` names, not yet made. Raises InputError."""
    if ":" in text:
        return _import(text)
    built_in = BUILT_IN.get(kind, {})
    if text in built_in:
        return _import(built_in[text])
    from importlib.metadata import entry_points  # reads what every installed package declares

    points = {point.name: point for point in entry_points(group=GROUPS[kind])}
    if text not in points:
        raise InputError(
            f"there is no {_name(kind)} `{text}`; {suggest(text, [*built_in, *points])}; one of your own is named "
            "module:attribute"
        )
    return _import(points[text].value)


def lacks(plugin: Any, kind: Kind) -> list[str]:
    """Return what an object would need to be a plugin of a kind. Hooks need any one of their methods."""
    if kind == "hooks":
        return [] if any(callable(getattr(plugin, name, None)) for name in HOOKS) else list(HOOKS)
    return [name for name in _MEMBERS[kind] if not hasattr(plugin, name)]


def _import(text: str) -> Any:
    module, _, attribute = text.partition(":")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)  # a module that lies beside the user is found, as `python -m` would
    try:
        value = importlib.import_module(module)
        for name in attribute.split("."):
            value = getattr(value, name)
    except Exception as exc:  # whatever a plugin's own module raises when it is imported
        raise InputError(f"{text}: cannot be loaded: {type(exc).__name__}: {exc}; name it module:attribute") from exc
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
