"""Writes the job folder of each cell: a folder a trial, then the summary."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from benchflow.report.exports import atif
from benchflow.report.exports.cells import CellRows, cells_of
from benchflow.report.exports.facts import seconds_between
from benchflow.report.exports.record import LeftOut, TrialRecord, read_records
from benchflow.report.exports.upstream.rewards import make_rewards, reward_lines, verifier_text
from benchflow.report.exports.upstream.rollout import make_config, make_result, make_timing, rollout_name
from benchflow.report.exports.upstream.summary import make_summary
from benchflow.report.exports.upstream.trainer import adp_record, verifiers_record
from benchflow.report.exports.upstream.trajectory import acp_lines, llm_lines
from benchflow.row import ProfileRow
from benchflow.store import StoredRun

NEVER = (
    LeftOut(what="results.jsonl", reason="it gives what is unscored a reward of 0"),
    LeftOut(what="verifier/ctrf.json", reason="it needs the time that each check took, which is not measured"),
)
"""What no trial has."""


def write(run: StoredRun, out: Path) -> Iterator[Path | LeftOut]:
    """Write a job for each cell of the run."""
    yield from NEVER
    for cell in cells_of(run):
        yield from _write_job(run, cell, out / cell.name)
    ended = {row.trial for row in run.rows}
    for entry in read_records(run, [key for key in run.planned if key not in ended]):
        if isinstance(entry, LeftOut):
            yield entry


def _write_job(run: StoredRun, cell: CellRows, folder: Path) -> Iterator[Path | LeftOut]:
    results = []
    for record in read_records(run, [row.trial for row in cell.rows]):
        if isinstance(record, LeftOut):
            yield record
            continue
        rollout = folder / rollout_name(record.row)
        for part in ("trajectory", "trainer", "verifier"):
            (rollout / part).mkdir(parents=True)
        lines, rewards = acp_lines(record), make_rewards(record.row)
        results.append(make_result(record, rewards, lines))
        yield _write_json(rollout / "result.json", results[-1])
        yield from _write_session(record, lines, rollout)
        yield from _write_verdict(record.row, rewards, rollout)
        yield from _write_for_trainers(record, rewards, lines, rollout / "trainer")
    elapsed_s = seconds_between(cell.started_at, cell.completed_at)
    folder.mkdir(parents=True, exist_ok=True)
    yield _write_json(folder / "summary.json", make_summary(folder.name, cell, results, elapsed_s))


def _write_session(record: TrialRecord, lines: Iterable[Any], folder: Path) -> Iterator[Path | LeftOut]:
    yield _write_json(folder / "config.json", make_config(record.row))
    yield _write_json(folder / "timing.json", make_timing(record.row))
    yield _write_json(folder / "prompts.json", [prompt.text for prompt in record.prompts])
    yield _write_lines(folder / "trajectory" / "acp_trajectory.jsonl", lines)
    yield from _write_exchanges(record, folder / "trajectory" / "llm_trajectory.jsonl")


def _write_verdict(row: ProfileRow, rewards: dict[str, Any] | None, folder: Path) -> Iterator[Path | LeftOut]:
    if rewards is None:
        yield LeftOut(what=row.trial, reason=f"unscored ({row.error_code}): its files have no reward")
        return
    yield _write_lines(folder / "rewards.jsonl", reward_lines(rewards, row.completed_at))
    yield _write_text(folder / "verifier" / "reward.txt", f"{rewards['reward']}\n")
    yield _write_text(folder / "verifier" / "test-stdout.txt", verifier_text(row))
    if rewards["reward"] != rewards["score"]:
        said = f"its score is {row.score} and it is {'a' if row.success else 'no'} pass"
        reason = (
            f"{said}; upstream passes a reward of 1 and no other, so its reward is the verdict ({rewards['reward']})"
        )
        yield LeftOut(what=row.trial, reason=reason)


def _write_for_trainers(
    record: TrialRecord, rewards: dict[str, Any] | None, lines: Sequence[Any], folder: Path
) -> Iterator[Path | LeftOut]:
    prompts = [prompt.text for prompt in record.prompts]
    if (verified := verifiers_record(record.row, rewards, prompts, lines)) is not None:
        yield _write_lines(folder / "verifiers.jsonl", [verified])
    if (said := adp_record(record, rollout_name(record.row), rewards)) is not None:
        yield _write_lines(folder / "adp.jsonl", [said])
    document = atif.make_document(record)
    yield document if isinstance(document, LeftOut) else _write_json(folder / "atif.json", document)


def _write_exchanges(record: TrialRecord, path: Path) -> Iterator[Path | LeftOut]:
    with path.open("wb") as file:
        for line in llm_lines(record):
            if isinstance(line, str):
                yield LeftOut(what=record.row.trial, reason=line)
            else:
                file.write(orjson.dumps(line) + b"\n")
    yield path


def _write_json(path: Path, value: Any) -> Path:
    path.write_bytes(orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n")
    return path


def _write_lines(path: Path, values: Iterable[Any]) -> Path:
    path.write_bytes(b"".join(orjson.dumps(value) + b"\n" for value in values))
    return path


def _write_text(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
