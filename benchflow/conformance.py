"""Tells whether an object follows a plugin contract: its members, and whether they can be called as the run calls them.

The contracts' own protocols are the measure, so that there is no second list.
"""

import inspect
from collections.abc import Callable, Mapping
from inspect import iscoroutinefunction
from typing import Any, Literal

from benchflow.contracts import (
    Analyzer,
    Collector,
    JudgeProvider,
    ModeResolver,
    RunHooks,
    Scorer,
    SessionProvider,
)

Kind = Literal["scorer", "collector", "analyzer", "mode_resolver", "hooks", "provider", "judge"]

CONTRACTS: Mapping[Kind, type] = {
    "scorer": Scorer,
    "collector": Collector,
    "analyzer": Analyzer,
    "mode_resolver": ModeResolver,
    "hooks": RunHooks,
    "provider": SessionProvider,
    "judge": JudgeProvider,
}
MEMBERS: Mapping[Kind, Mapping[str, Any]] = {
    kind: {name: member for name, member in vars(contract).items() if not name.startswith("_")}
    for kind, contract in CONTRACTS.items()
}
"""Of each contract, what it asks for: functions and properties."""


def lacks(plugin: Any, kind: Kind) -> list[str]:
    """Return what an object would need to be a plugin of a kind. Hooks need any one of their methods."""
    missing = [name for name in MEMBERS[kind] if not hasattr(plugin, name)]
    return [] if kind == "hooks" and len(missing) < len(MEMBERS[kind]) else missing


def misfit(plugin: Any, kind: Kind) -> str | None:
    """Say which method could not be called as the contract says, and how it is to be written; None: all could."""
    for name, member in MEMBERS[kind].items():
        method = getattr(plugin, name, None)
        if not inspect.isfunction(member) or method is None:
            continue
        if not callable(method):
            return f"`{name}` is no method; write `{_written(name, member)}`"
        if (
            inspect.iscoroutinefunction(member)
            and inspect.isroutine(method)
            and not inspect.iscoroutinefunction(method)
        ):
            return f"`{name}` is not async; write `{_written(name, member)}`"
        if complaint := _unfit(method, member):
            return f"`{name}` cannot be called as it will be ({complaint}); write `{_written(name, member)}`"
    return None


def _unfit(method: Callable[..., Any], member: Callable[..., Any]) -> str | None:
    """Say why a method does not take the arguments that the contract's own does."""
    try:
        signature = inspect.signature(method)
    except ValueError:
        return None  # it is not written in Python; its call will tell
    asked = list(inspect.signature(member).parameters.values())[1:]
    keywords = {each.name: None for each in asked if each.kind is each.KEYWORD_ONLY}
    try:
        signature.bind(*[None for each in asked if each.name not in keywords], **keywords)
    except TypeError as exc:
        return str(exc)
    return None


def _written(name: str, member: Callable[..., Any]) -> str:
    """Write a contract's method as its user would, without types."""
    words: list[str] = []
    for each in inspect.signature(member).parameters.values():
        if each.kind is each.KEYWORD_ONLY and "*" not in words:
            words.append("*")
        words.append(each.name if each.default is each.empty else f"{each.name}={each.default}")
    before = "async " if iscoroutinefunction(member) else ""
    return f"{before}def {name}({', '.join(words)})"
