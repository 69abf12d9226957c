"""What was said of a run, by the names of the options: the one form that command line, profile and run.json share."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchflow.contracts import Limits
from benchflow.errors import InputError
from benchflow.gateway.wrapping.limits import Pace
from benchflow.gateway.wrapping.retrying import Retries
from benchflow.judging.choice import JudgeChoice, ScorerChoice
from benchflow.registry import is_path
from benchflow.runner.gate import Gate
from benchflow.runner.plugged import PluginNames
from benchflow.runner.request import RunRequest
from benchflow.scenario import is_scenario_path

Options = Mapping[str, Any]
"""Values by the options' names, as `max_turns` for `--max-turns`; `agents` and `scenarios` for what has no name. What
was not given is not there."""

WHO = ("agents", "command", "provider")
"""The three that stand in each other's place."""

OF_ONE_CALL = frozenset({"config", "dry_run", "resume", "retry_unscored", "json"})
"""What says what one call does, and not what a run is: no file has it."""

_REQUEST = {
    "agents": "agents",
    "scenarios": "scenarios",
    "command": "command",
    "provider": "provider",
    "repetitions": "repetitions",
    "until_ci": "until_ci",
    "max_repetitions": "max_repetitions",
    "concurrency": "concurrency",
    "models": "model",
    "modes": "mode",
    "modes_file": "modes",
    "canary": "canary",
    "upstream": "upstream",
    "strict_model": "strict_model",
    "own_backend": "own_backend",
    "require_capture": "require_capture",
    "record": "record",
    "replay": "replay",
    "prices": "prices",
    "sandbox": "sandbox",
    "timeout_s": "timeout",
    "max_cost_usd": "max_cost",
    "tags": "tag",
    "exclude": "exclude",
    "out": "out",
    "keep": "keep",
    "reinstall": "reinstall",
    "agents_dir": "agents_dir",
}
_LIMITS = {
    "max_turns": "max_turns",
    "grace_turns": "grace_turns",
    "max_subagent_turns": "max_subagent_turns",
    "max_tool_calls": "max_tool_calls",
    "max_tokens": "max_tokens",
    "max_output_tokens": "max_output_tokens",
    "max_cost_usd": "max_cost_per_trial",
    "idle_timeout_s": "idle_timeout",
    "idle_in_tools": "idle_in_tools",
    "grace": "grace",
    "wrap_up": "wrap_up",
    "wrap_up_message": "wrap_up_message",
}
_PACE = {"max_requests": "max_requests", "rpm": "rpm", "tpm": "tpm", "max_wait_s": "max_wait"}
_RETRIES = {"times": "retry_upstream", "max_wait_s": "max_wait"}
_PLUGINS = {
    "any": "plugin",
    "collectors": "collector",
    "analyzers": "analyzer",
    "mode_resolvers": "mode_resolver",
    "hooks": "hooks",
}
_JUDGE = {
    "provider": "judge",
    "model": "judge_model",
    "upstream": "judge_upstream",
    "repeats": "judge_repeats",
    "record": "judge_record",
}
_GATE = {
    "fail_under": "fail_under",
    "max_unscored": "max_unscored",
    "max_cost_usd": "max_cost",
    "fail_on_regression": "fail_on_regression",
    "margin": "margin",
    "require_power": "require_power",
}
"""Each: field of the value, and the option that gives it."""

TABLES: Mapping[str, tuple[str, ...]] = {
    "limits": ("timeout", *_LIMITS.values()),
    "gate": tuple(name for name in _GATE.values() if name not in _REQUEST.values()),
}
"""The tables that hold options in a file; a file's other keys are options themselves."""


def merge(base: Options, given: Options, words: Sequence[str]) -> Options:
    """Return `base`, with the options that were given in its place, and with what stands beside them.

    Of `words` the first is the agents, separated by commas, unless a command or a provider stands for them.
    """
    taken = {name: value for name, value in base.items() if name not in WHO or not any(who in given for who in WHO)}
    merged = {**taken, **given}
    left = list(words)
    if left and not (merged.get("command") or merged.get("provider")):
        merged["agents"] = tuple(left.pop(0).split(","))
    if left:
        merged["scenarios"] = tuple(left)
    return merged


def anchor(options: Options, base: Options, folder: Path) -> Options:
    """Make the paths absolute that are relative to `folder`, so that they mean the same in another one.

    What `options` have of `base` is left as it is: it is relative to that other one.
    """
    return {
        name: value if value is base.get(name) else _anchor_value(name, value, folder)
        for name, value in options.items()
    }


def _anchor_value(name: str, value: Any, folder: Path) -> Any:
    if isinstance(value, Path):
        return folder / value.expanduser()
    if name == "agents":
        return tuple(_absolute(text, folder) if is_path(text) else text for text in value)
    if name == "scenarios":
        return tuple(_absolute(text, folder) if is_scenario_path(text) else text for text in value)
    if not isinstance(value, str):
        return value
    kind, colon, path = value.partition(":")
    if colon and kind in ("script", "cassette"):
        return f"{kind}:{folder / path}"
    if name in ("faults", "fail_on_regression") and (folder / value).exists():
        return str(folder / value)
    return value


def _absolute(text: str, folder: Path) -> str:
    return text if text.startswith("~") else os.path.normpath(folder / text)


def stored(options: Options) -> dict[str, Any]:
    """Return options as a file has them, as plain values."""
    placed: dict[str, Any] = {}
    for name, value in options.items():
        table = next((table for table, names in TABLES.items() if name in names), None)
        where = placed.setdefault(table, {}) if table else placed
        where[name] = str(value) if isinstance(value, Path) else value
    return placed


def make_request(options: Options) -> RunRequest:
    """Make the request. Raises InputError for what is missing and what does not go together."""
    from benchflow.gateway.wrapping.fault_plan import read_faults

    _require_targets(options)
    request = _given(options, _REQUEST)
    if not request.get("scenarios") and options.get("tag"):
        request["scenarios"] = ("all",)
    if not request.get("scenarios"):
        raise InputError("no scenario was named; name some, or `all`; `benchflow scenarios` lists them")
    faults = options.get("faults")
    return RunRequest(
        **{"agents": (), **request},
        limits=Limits(**_given(options, _LIMITS)),
        pace=Pace(**_given(options, _PACE)),
        retries=Retries(**_given(options, _RETRIES)),
        plugins=PluginNames(**_given(options, _PLUGINS)),
        faults=read_faults(faults) if faults is not None else None,
        scoring=ScorerChoice(**_given(options, {"scorer": "scorer"}), judge=JudgeChoice(**_given(options, _JUDGE))),
        gate=Gate(**_given(options, _GATE)),
        options=options,
    )


def _given(options: Options, fields: Mapping[str, str]) -> dict[str, Any]:
    return {field: options[name] for field, name in fields.items() if options.get(name) is not None}


def _require_targets(options: Options) -> None:
    """Refuse a run of nobody, and one of two. Raises InputError."""
    named = [name for name in WHO if options.get(name)]
    if "command" in named and "provider" in named:
        raise InputError("--command and --provider: both stand in the place of AGENT; leave one out")
    if len(named) > 1:
        raise InputError(f"agents and {named[1]}: one stands in the place of the other; leave one out")
    if not named:
        raise InputError("no agent was named; `benchflow agents` lists them (try: benchflow run mini fix-failing-test)")
