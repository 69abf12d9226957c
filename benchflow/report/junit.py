"""The trials as JUnit XML, for the pages that CI servers show: a test suite a cell, a test case a trial.

Unscored is an error, since it is not known; what did not pass is a failure, with the reasons of its checks.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import BinaryIO
from xml.sax.saxutils import escape, quoteattr

from benchflow.report.document import Document
from benchflow.report.profile import CellFigures, CellName
from benchflow.report.profile.matching import name_text
from benchflow.report.verdict import describe_check, describe_limit, judge
from benchflow.row import ProfileRow

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML can have, not even escaped."""


def write_junit(document: Document, stream: BinaryIO) -> None:
    """Write all trials; the suites of a comparison are named by their side."""
    for line in _lines(document):
        stream.write(line.encode() + b"\n")


def _lines(document: Document) -> Iterator[str]:
    shown = document.sides.values()
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    total, failed = sum(one.trials for one in shown), sum(one.scored - one.passed for one in shown)
    errors = sum(one.unscored for one in shown)
    yield f'<testsuites name="benchflow" tests="{total}" failures="{failed}" errors="{errors}">'
    for side, rows in document.rows.items():
        cells = {cell.name: cell for cell in document.sides[side].cells}
        prefix = f"{side}: " if document.compares else ""
        for name, group in groupby(rows, key=_cell):
            yield from _suite(prefix + name_text(name), cells[name], group)
    yield "</testsuites>"


def _cell(row: ProfileRow) -> CellName:
    return CellName(agent=row.agent, upstream=row.upstream, model=row.model, mode=row.mode, isolation=row.isolation)


def _suite(name: str, cell: CellFigures, rows: Iterator[ProfileRow]) -> Iterator[str]:
    counts = f'tests="{cell.trials}" failures="{cell.scored - cell.passed}" errors="{cell.unscored}"'
    yield f'  <testsuite name={_attribute(name)} {counts} time="{cell.totals.wall_ms / 1000:.3f}">'
    for row in rows:
        yield from _case(name, row)
    yield "  </testsuite>"


def _case(suite: str, row: ProfileRow) -> Iterator[str]:
    name = f"{row.scenario_id} #{row.iteration + 1}"
    head = f'    <testcase classname={_attribute(suite)} name={_attribute(name)} time="{row.timing.wall_ms / 1000:.3f}"'
    verdict = judge(row)
    told = f"      <system-out>{_text(describe_limit(row.limit))}</system-out>" if row.limit else None
    if verdict.word == "pass":
        yield from [head + ">", told, "    </testcase>"] if told else [head + "/>"]
        return
    tag = "error" if verdict.word == "unscored" else "failure"
    kind, message = _attribute(verdict.detail or "checks"), _attribute(verdict.reason or verdict.label)
    yield head + ">"
    yield f"      <{tag} type={kind} message={message}>{_text(_details(row))}</{tag}>"
    if told:
        yield told
    yield "    </testcase>"


def _details(row: ProfileRow) -> str:
    """Say why, a line for each check that failed, and where to look."""
    lines = [describe_check(check) for check in row.check_details if not check.passed]
    lines += [row.error] if row.error else []
    return "\n".join([*lines, f"benchflow show {row.run_id} {row.trial}"])


def _text(text: str) -> str:
    return escape(_clean(text))


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))


def _clean(text: str) -> str:
    r"""Write what XML cannot have as an escape that people know: `\x1b`."""
    return _FORBIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
