"""Compares the named files in services/ with what they should say; `--in-order` also the order of their tables."""

import json
import os
import sys
import tomllib
from pathlib import Path

expected = json.loads(Path(os.environ["BENCHFLOW_CHECKS"], "expected.json").read_text())
in_order = "--in-order" in sys.argv
failed = False


def typed(value):
    """Return the value with the types of its parts, so that 1 and true, or 1 and 1.0, differ."""
    if isinstance(value, dict):
        return {key: typed(part) for key, part in value.items()}
    if isinstance(value, list):
        return [typed(part) for part in value]
    return type(value).__name__, value


for name in sys.argv[1:]:
    if name.startswith("--"):
        continue
    try:
        found = tomllib.loads(Path("services", f"{name}.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        print(f"{name}: {error}")
        failed = True
        continue
    if typed(found) != typed(expected[name]) or (in_order and list(found) != list(expected[name])):
        print(f"{name} says {found}")
        failed = True
sys.exit(1 if failed else 0)
