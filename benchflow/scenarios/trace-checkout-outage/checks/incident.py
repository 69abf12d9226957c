"""Judges incident.md: its headings, and the facts that it must name."""

import re
import sys
from pathlib import Path

text = Path("incident.md").read_text()
headings = [line.strip() for line in text.splitlines() if line.startswith("## ")]
if headings != ["## What happened", "## Impact", "## Cause"]:
    sys.exit(f"the headings are {headings}")
for fact in (r"\bpay-3\b", r"\b5\.9\.0\b", r"\b28\b", r"\b4129\.02\b"):
    if not re.search(fact, text):
        sys.exit(f"nothing in it matches {fact}")
