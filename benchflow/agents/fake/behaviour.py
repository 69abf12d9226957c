"""Finds and reads behaviours: JSON objects with a `description` and the steps to play `on` each occasion."""

import json
import os
from typing import Any

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "behaviours")
KEYS = ("description", "on", "deaf")


class UnknownBehaviour(Exception):
    """No such behaviour, or none that can be read."""


def known() -> list[str]:
    """Return the names of the behaviours that ship with the package."""
    return sorted(name.removesuffix(".json") for name in os.listdir(FOLDER) if name.endswith(".json"))


def load(name: str) -> dict[str, Any]:
    """Read a behaviour by name, or by the path of a file of the user's own."""
    path = name if name.endswith(".json") else os.path.join(FOLDER, f"{name}.json")
    try:
        with open(path, encoding="utf-8") as file:
            behaviour = json.load(file)
    except FileNotFoundError:
        listed = "\n".join(f"  {name:28} {load(name)['description']}" for name in known())
        raise UnknownBehaviour(f"no behaviour {name!r}; there are, besides files of your own:\n{listed}") from None
    except (OSError, ValueError) as error:
        raise UnknownBehaviour(f"{path}: {error}") from None
    if not isinstance(behaviour, dict) or not isinstance(behaviour.get("description"), str):
        raise UnknownBehaviour(f"{path}: not an object with a `description`")
    unknown = [key for key in behaviour if key not in KEYS]
    if unknown:
        raise UnknownBehaviour(f"{path}: unknown key {unknown[0]!r}; there are {', '.join(KEYS)}")
    return behaviour
