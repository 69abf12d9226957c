"""A baseline file: what comparing with a run needs of it, small enough to commit, and the same for the same rows.

One line a scenario; of each metric the values of its scored trials, sorted. What is not compared (logs, checks, dates)
is left out, and so are tokens, times and costs of unscored trials.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import orjson

from benchflow.errors import InputError
from benchflow.report.profile.measured import Measured
from benchflow.report.profile.naming import CellName
from benchflow.report.profile.repeats import Repeats, repeats_of

if TYPE_CHECKING:
    from benchflow.report.baseline_schema import CellLines, ScenarioLine

FORMAT = "benchflow baseline"
VERSION = 1
_MARK = b'{"format":"' + FORMAT.encode() + b'"'


def write_baseline(trials: Sequence[Measured], stream: BinaryIO) -> None:
    """Write the baseline of these trials, in any order."""
    cells: dict[CellName, list[Measured]] = {}
    for trial in trials:
        cells.setdefault(trial.cell, []).append(trial)
    runs = sorted({trial.run_id for trial in trials})
    stream.write(_MARK + b',"version":%d,"runs":%s,"cells":[' % (VERSION, orjson.dumps(runs)))
    for index, (name, group) in enumerate(sorted(cells.items())):
        stream.write((b",\n" if index else b"\n") + orjson.dumps(asdict(name))[:-1] + b',"scenarios":[')
        lines = (orjson.dumps(_scenario(one)) for one in repeats_of(group).values())
        stream.write(b"\n  " + b",\n  ".join(lines) + b"\n]}")
    stream.write(b"\n]}\n")


def is_baseline(path: Path) -> bool:
    """Tell whether a file is a baseline, by its beginning."""
    with path.open("rb") as file:
        return file.read(len(_MARK)) == _MARK


def read_baseline(path: Path) -> list[Measured]:
    """Read what was measured. Raises InputError for a file that is no baseline of this version."""
    from pydantic import ValidationError

    from benchflow.report.baseline_schema import Baseline

    try:
        content = Baseline.model_validate_json(path.read_bytes())
    except ValidationError as exc:
        first = exc.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise InputError(
            f"{path}: is no baseline that this version reads ({place}: {first['msg']}); make it anew with "
            "`benchflow report RUN --baseline FILE`"
        ) from exc
    run = ", ".join(content.runs)
    return [trial for cell in content.cells for one in cell.scenarios for trial in _trials(path, _name(cell), one, run)]


def _scenario(one: Repeats) -> dict[str, Any]:
    counts = {"scenario": one.scenario, "digest": min(one.digests), "scored": one.scored, "unscored": one.unscored}
    return counts | {name: [_number(value) for value in values] for name, values in one.values.items() if values}


def _number(value: float) -> float | int:
    return int(value) if value == int(value) else value


def _name(cell: "CellLines") -> CellName:
    return CellName(
        agent=cell.agent, upstream=cell.upstream, model=cell.model, mode=cell.mode, isolation=cell.isolation
    )


def _trials(path: Path, name: CellName, one: "ScenarioLine", run: str) -> Iterator[Measured]:
    """Give the values to trials again: which belonged together is not known, and no comparison asks."""
    if not len(one.success) == len(one.score) == one.scored:
        raise InputError(f"{path}: {one.scenario}: success and score are not of all scored trials; make it anew")
    for index in range(one.scored + one.unscored):
        yield Measured(
            cell=name,
            run_id=run,
            trial=f"{one.scenario}-{name.agent}-{name.mode}-{index}",
            scenario=one.scenario,
            digest=one.digest,
            iteration=index,
            success=_at(one.success, index),
            score=_at(one.score, index),
            wall_ms=_at(one.wall_ms, index),
            tokens=_at(one.tokens, index),
            cost_usd=_at(one.cost_usd, index),
            turns=_at(one.turns, index),
            tool_calls=_at(one.tool_calls, index),
            unscored_code=None if index < one.scored else "unknown",
        )


def _at(values: Sequence[float], index: int) -> float | None:
    return float(values[index]) if index < len(values) else None
