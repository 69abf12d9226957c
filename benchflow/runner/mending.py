"""Makes the files of a run whole again that its end cut in mid-line, so that more lines can follow.

A row is written when nothing of its trial is left to do but that, so what the cut line lacks stands in the result of
its try: no trial that has ended is lost.
"""

from collections.abc import Callable
from pathlib import Path

import orjson

from benchflow.errors import InputError
from benchflow.row import parse_row
from benchflow.runner.observing import brief
from benchflow.store import StoredRun, read_result

ROWS, JOURNAL, HOOKS = "rows.jsonl", "journal.jsonl", "hooks.jsonl"


def mend(folder: Path) -> None:
    """Complete the last lines of a run's files, or cut them off. Whoever calls it holds the folder."""
    _mend(folder / ROWS, _is_row, lambda start: _finished(folder, start))
    for name in (JOURNAL, HOOKS):
        _mend(folder / name, _is_json, lambda _: None)


def _mend(path: Path, is_whole: Callable[[bytes], bool], find: Callable[[bytes], bytes | None]) -> None:
    """End the file with a whole line: as it is, or as `find` knows how it goes on, or the one before it."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return
    start = content[content.rfind(b"\n") + 1 :]
    if not start:
        return
    line = start if is_whole(start) else find(start)
    with path.open("r+b") as file:
        if line is None:
            file.truncate(len(content) - len(start))
        else:
            file.seek(0, 2)
            file.write(line[len(start) :] + b"\n")


def _finished(folder: Path, start: bytes) -> bytes | None:
    """Return the whole row that begins so, where the results of trials under way leave no doubt which it is."""
    run = StoredRun(folder)
    last = {entry.trial: entry.state for entry in run.journal}
    found: list[bytes] = []
    for key in (key for key, state in last.items() if state == "started"):
        trial = run.trial(key)
        row = read_result(trial.try_folder()) if trial.tries else None
        if row and row.error_code != "cancelled" and (line := brief(row).to_json()).startswith(start):
            found.append(line)
    return found[0] if len(found) == 1 else None


def _is_row(line: bytes) -> bool:
    try:
        parse_row(line, "")
    except InputError:
        return False
    return True


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except ValueError:
        return False
    return True
