"""Writes docs/commands.md from the command line's own table."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from parcel import __version__  # noqa: E402
from parcel.cli import COMMANDS  # noqa: E402

lines = [f"# Commands of parcel {__version__}", ""]
lines += [f"- `parcel {usage}`: {text}" for usage, text in COMMANDS.items()]
(ROOT / "docs" / "commands.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
