"""What the command line names as a run: a stored run, a file of rows, or a baseline file."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchflow.adaptive import Adaptive
from benchflow.errors import InputError
from benchflow.report.baseline import is_baseline, read_baseline
from benchflow.report.profile.measured import Measured
from benchflow.report.rowfile import RowFile
from benchflow.row import ProfileRow
from benchflow.store import Store, StoredRun, is_run

ROWS = "rows.jsonl"


@dataclass(frozen=True, kw_only=True)
class Source:
    """The trials of a run, from wherever they are."""

    name: str
    """As the user named it."""
    trials: Sequence[Measured]
    planned: Sequence[str] | None = None
    """The keys of all trials that were to be; None: nobody says."""
    rows: Iterable[ProfileRow] | None = None
    """None: a baseline has none."""
    run: StoredRun | None = None
    """None: there is no folder of it."""
    adaptive: Adaptive | None = None
    """What became of repeating until enough was known; None: the number of repetitions was fixed, or nobody says."""
    upstream_chosen: bool = False
    """Whoever ran it said which upstream is to answer; the oracle was not merely taken for want of a model."""


def open_source(text: str, out: Path) -> Source:
    """Read the trials that `text` names. Raises InputError where there are none, or they cannot be read."""
    path = Path(text)
    if path.is_file():
        if is_baseline(path):
            return Source(name=text, trials=read_baseline(path))
        if path.name == ROWS and is_run(path.parent):
            return _of_run(StoredRun(path.parent), text)
        return _required(Source(name=text, trials=(rows := RowFile(path)).trials, rows=rows))
    return _of_run(Store(out).find(text), text)


def _of_run(run: StoredRun, text: str) -> Source:
    path = run.folder / ROWS
    if not path.exists():
        raise InputError(f"{text}: no trial of this run has ended; `benchflow show {text}` says what it does")
    rows = RowFile(path)
    known = [str(key) for key in run.description.get("trials") or ()]
    request = run.description.get("request")
    return _required(
        Source(
            name=text,
            trials=rows.trials,
            planned=list(dict.fromkeys([*known, *(entry.trial for entry in run.journal)])),
            rows=rows,
            run=run,
            adaptive=Adaptive.of_description(run.description),
            upstream_chosen=isinstance(request, dict) and bool(request.get("upstream") or request.get("replay")),
        )
    )


def _required(source: Source) -> Source:
    if not source.trials:
        raise InputError(f"{source.name}: has no rows, so there is nothing to report")
    return source
