"""The log of a cell: its header from the rows, then its samples, written one at a time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from benchflow.contracts import TokenBreakdown
from benchflow.report.exports.cells import CellRows, cells_of
from benchflow.report.exports.facts import PLAYED_NOTE, without_none
from benchflow.report.exports.inspect.messages import usage
from benchflow.report.exports.inspect.sample import SCORER, make_sample
from benchflow.report.exports.record import LeftOut, read_records
from benchflow.report.verdict import is_played
from benchflow.store import StoredRun

VERSION = 2


def write(run: StoredRun, out: Path) -> Iterator[Path | LeftOut]:
    """Write a log for each cell of the run."""
    for number, cell in enumerate(cells_of(run), start=1):
        path = (
            out / f"{cell.started_at[:19].replace(':', '-')}+00-00_{cell.name}_{run.id.replace('-', '')}n{number}.json"
        )
        yield from _write_log(run, cell, number, path)
        yield path
    ended = {row.trial for row in run.rows}
    yield from (
        entry
        for entry in read_records(run, [key for key in run.planned if key not in ended])
        if isinstance(entry, LeftOut)
    )


def _write_log(run: StoredRun, cell: CellRows, number: int, path: Path) -> Iterator[LeftOut]:
    """Write one log; yield the trials whose logs are gone."""
    model = f"{cell.upstream.partition(' ')[0].rstrip('/')}/{cell.model}"
    with path.open("wb") as file:
        file.write(orjson.dumps(make_header(run, cell, number, model))[:-1] + b',"samples":[')
        written = 0
        for record in read_records(run, [row.trial for row in cell.rows]):
            if isinstance(record, LeftOut):
                yield record
                continue
            file.write((b",\n" if written else b"\n") + orjson.dumps(make_sample(record, model)))
            written += 1
        file.write(b"\n]}\n")


def make_header(run: StoredRun, cell: CellRows, number: int, model: str) -> dict[str, Any]:
    """Make all of a log but its samples."""
    rows = cell.rows
    own = {
        "run_id": run.id,
        "agent": cell.agent,
        "mode": cell.mode,
        "upstream": cell.upstream,
        "played": is_played(cell.upstream),
        "note": PLAYED_NOTE if is_played(cell.upstream) else None,
        "isolation": sorted({row.isolation for row in rows}),
    }
    scenarios = list(dict.fromkeys(row.scenario_id for row in rows))
    return {
        "version": VERSION,
        "status": "success" if set(run.planned) <= {row.trial for row in run.rows} else "cancelled",
        "eval": {
            "eval_id": f"{run.id}-{number}",
            "run_id": run.id,
            "created": cell.started_at,
            "task": cell.name,
            "task_id": f"{run.id}-{number}",
            "task_version": 0,
            "solver": cell.agent,
            "dataset": {"name": "benchflow", "samples": len(scenarios), "sample_ids": scenarios, "shuffled": False},
            "model": model,
            "config": {"epochs": max(row.iteration for row in rows) + 1},
            "packages": {"benchflow": rows[0].benchflow_version},
            "metadata": {"benchflow": without_none(own)},
            "scorers": [{"name": SCORER}],
        },
        "plan": {"name": "benchflow", "steps": [{"solver": cell.agent}]},
        "results": _results(cell),
        "stats": _stats(cell, model),
    }


def _results(cell: CellRows) -> dict[str, Any]:
    scores = [row.score for row in cell.rows if row.score is not None]
    passed = [row.success for row in cell.rows if row.success is not None]
    metrics = (
        {"mean": sum(scores) / len(scores), "success_rate": sum(passed) / len(passed)} if scores and passed else {}
    )
    return {
        "total_samples": len(cell.rows),
        "completed_samples": len(scores),
        "scores": [
            {
                "name": SCORER,
                "scorer": SCORER,
                "scored_samples": len(scores),
                "unscored_samples": len(cell.rows) - len(scores),
                "metrics": {name: {"name": name, "value": value} for name, value in metrics.items()},
            }
        ],
    }


def _stats(cell: CellRows, model: str) -> dict[str, Any]:
    tokens = [row.tokens for row in cell.rows if row.tokens]
    costs = [row.cost.total_usd for row in cell.rows if row.tokens]
    known = [cost for cost in costs if cost is not None]
    total = sum(known) if known and len(known) == len(costs) else None
    return {
        "started_at": cell.started_at,
        "completed_at": cell.completed_at,
        "model_usage": {model: usage(sum(tokens, TokenBreakdown()), total)} if tokens else {},
    }
