"""Which budgets a trial has, and how its agent is warned, where user, scenario and agent each have a say. Pure."""

from collections.abc import Sequence
from dataclasses import fields, replace

from benchflow.contracts import Delivery, Limits


def choose_limits(scenario: Limits, asked: Limits) -> Limits:
    """Return the scenario's budgets, with those that the user asked for in their place."""
    given = {field.name: getattr(asked, field.name) for field in fields(Limits)}
    return replace(scenario, **{name: value for name, value in given.items() if value is not None})


def choose_delivery(asked: Delivery | None, *, tier: str, captured: bool) -> Delivery:
    """Return how an agent is warned.

    In its own next model request, where the gateway has those: nothing of its turn is lost. Else there is but a prompt.
    """
    if not captured:
        return "reprompt"
    return asked or ("reprompt" if tier == "runnable" else "inject")


def notes_of(limits: Limits) -> Sequence[str]:
    """Return what a user must know of the budgets: where a warning was asked for that there cannot be."""
    turns, grace = limits.max_turns, limits.grace_turns
    if grace is None:
        return ()
    if turns is None:
        return (f"grace_turns {grace}: there is no max_turns to be warned of",)
    if not 0 < grace < turns:
        return (f"max_turns {turns}, grace_turns {grace}: no room for a warning; hard cap only",)
    return ()
