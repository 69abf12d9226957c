"""Makes a new scenario: small, complete, and proven, so that its author changes something that works."""

import re
from pathlib import Path

from benchflow.errors import InputError
from benchflow.scenario import SCENARIO_FILE
from benchflow.scenario_file import IDENTIFIER

_FILES = {
    SCENARIO_FILE: '''\
# A task for an agent. `benchflow scenarios check THIS_FOLDER` proves that it measures something.
schema_version = 1
id = "{id}"
name = "Sum up the readings"                # one line, for tables
description = "What it takes, for people who choose scenarios."
difficulty = "easy"                         # easy, medium or hard
timeout_s = 300                             # seconds of wall time
tags = ["data"]

# What the agent is asked. It works in a copy of the folder `workspace`.
prompt = """
readings.csv has one reading a line: a sensor's name and a number. Write totals.json: an object with the sum of each
sensor's readings, the sensors' names as keys.
"""

# What must be true afterwards. Commands run when the agent is dead, on a copy of its workspace; the folder `checks`,
# which no agent sees, is then at $BENCHFLOW_CHECKS.
[[checks]]
kind = "json_path"
path = "totals.json"
query = "hall"
equals = 42

[[checks]]
id = "all-sensors"
kind = "command"
run = "python3 -m benchflow_tests test_totals.py"

# A guard: it earns nothing, but without it there is no success.
[[checks]]
kind = "unchanged"
paths = ["readings.csv"]

# How it can be done. The oracle plays these steps; each is a shell line or a file.
[[solution.steps]]
run = "cat readings.csv"

[[solution.steps]]
write = "totals.json"
content = """
{{"hall": 42, "yard": 7}}
"""

[solution]
answer = "I wrote totals.json: 42 for the hall and 7 for the yard."
''',
    "workspace/readings.csv": "hall,40\nyard,7\nhall,2\n",
    "checks/test_totals.py": '''\
"""Hidden tests. They run in the agent's workspace; `benchflow_subject` runs its code in a process of its own."""

import json
import unittest
import re
from pathlib import Path


class Totals(unittest.TestCase):
    def test_every_sensor_has_its_sum(self) -> None:
        self.assertEqual(json.loads(Path("totals.json").read_text()), {"hall": 42, "yard": 7})
''',
}


def make_scenario(identifier: str, folder: Path) -> Path:
    """Write a new scenario's folder into `folder` and return it. Raises InputError if it cannot be, or is there."""
    made = folder / identifier
    if not re.fullmatch(IDENTIFIER, identifier):
        raise InputError(f"`{identifier}` cannot be an id; use lower-case letters, digits, `-`, `.` and `_`")
    if made.exists():
        raise InputError(f"{made}: is there already; choose another id, or remove it")
    try:
        for name, text in _FILES.items():
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            content = text.format(id=identifier) if name == SCENARIO_FILE else text
            (made / name).write_text(content, encoding="utf-8")
    except OSError as exc:
        raise InputError(f"{made}: cannot be made: {exc.strerror or exc}") from exc
    return made
