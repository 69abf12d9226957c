"""The files of a try, printed as they are."""

import shutil
import sys
from pathlib import Path
from typing import Literal

from benchflow.errors import InputError
from benchflow.report.terminal import open_console
from benchflow.report.text import sanitize
from benchflow.store import ACP_LOG, DIFF, EXCHANGE_LOG, STDERR_LOG

Part = Literal["acp", "llm", "diff", "stderr"]

_FILES: dict[Part, str] = {
    "acp": ACP_LOG,
    "llm": EXCHANGE_LOG,
    "diff": DIFF,
    "stderr": STDERR_LOG,
}
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def choose_part(
    *, raw: Literal["acp", "llm"] | None, diff: bool, stderr: bool, follow: bool, as_json: bool
) -> Part | None:
    """Return the part that options ask for; None: all of the trial. Raises InputError where they ask for several."""
    chosen: dict[Part, bool] = {"acp": raw == "acp", "llm": raw == "llm", "diff": diff, "stderr": stderr}
    wanted: list[Part] = [part for part, asked in chosen.items() if asked]
    if len(wanted) + follow > 1:
        raise InputError("--raw, --diff, --stderr and --follow: name one of them")
    if wanted and as_json:
        raise InputError(
            f"--json: the {wanted[0]} part of a trial is a file of its own, printed as it is; leave it out"
        )
    return wanted[0] if wanted else None


def print_part(folder: Path, part: Part) -> None:
    """Print a file of a try: byte for byte to a program; to a terminal without what it would obey.

    Raises InputError where there is none.
    """
    path = folder / _FILES[part]
    if not path.is_file():
        raise InputError(f"{path}: the try left no such file; it may have ended before it came so far")
    if not sys.stdout.isatty():
        sys.stdout.flush()
        with path.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    console = open_console()
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            style = _DIFF_STYLES.get(line[:1]) if part == "diff" else None
            console.print(sanitize(line.removesuffix("\n")), style=style, soft_wrap=True)
