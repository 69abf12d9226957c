"""Compares keys of report.json with what they should be; `--keys` compares the set of keys."""

import json
import os
import sys
from pathlib import Path

expected = json.loads(Path(os.environ["BENCHFLOW_CHECKS"], "expected.json").read_text())
report = json.loads(Path("report.json").read_text())

if sys.argv[1:] == ["--keys"]:
    if report.keys() != expected.keys():
        sys.exit(f"report.json has the keys {sorted(report)}")
    sys.exit(0)

wrong = [key for key in sys.argv[1:] if report.get(key) != expected[key] or type(report[key]) is not type(expected[key])]
for key in wrong:
    print(f"{key} is {report.get(key)!r}")
sys.exit(1 if wrong else 0)
