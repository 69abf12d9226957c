"""Compares keys of summary.json with what they should be."""

import json
import os
import sys
from pathlib import Path

expected = json.loads(Path(os.environ["BENCHFLOW_CHECKS"], "expected.json").read_text(encoding="utf-8"))
summary = json.loads(Path("summary.json").read_text(encoding="utf-8"))
wrong = [key for key in sys.argv[1:] if summary.get(key) != expected[key]]
for key in wrong:
    print(f"{key} is {summary.get(key)!r}")
sys.exit(1 if wrong else 0)
