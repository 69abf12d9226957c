"""From what was said of a run, on the command line, in a file, or when it was begun, to the run itself."""

from collections.abc import Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchflow.errors import InputError
from benchflow.mode import BASELINE_NAME
from benchflow.runner.options import Options, anchor, make_request, merge
from benchflow.runner.run import RunResult, run_sync

if TYPE_CHECKING:
    from benchflow.runner.planning import DryRun
    from benchflow.runner.resuming import Resumed


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A run that is asked for."""

    options: Options
    folder: Path
    """Where it takes place: what is relative in the options is relative to this folder."""
    resumed: "Resumed | None" = None
    """None: it is a new one."""

    def plan(self) -> "DryRun":
        """Say what it would do. Raises InputError."""
        from benchflow.runner.planning import plan_run

        with chdir(self.folder):
            return plan_run(make_request(self.options), resumed=self.resumed)

    def run(self) -> RunResult:
        """Run it. Raises InputError."""
        with chdir(self.folder):
            return run_sync(make_request(self.options), resumed=self.resumed)


def ask(
    words: Sequence[str],
    given: Options,
    *,
    config: Path | None = None,
    resume: str | None = None,
    retry_unscored: bool = False,
) -> Asked:
    """Join what was given on the command line with the file, or the stored run, that it goes with.

    `words` are what stands beside the options. Raises InputError.
    """
    if resume is not None and config is not None:
        raise InputError("--resume and --config: the run has its configuration already; leave out --config")
    if retry_unscored and resume is None:
        raise InputError("--retry-unscored: says what --resume RUN runs again; give that, too")
    if resume is not None:
        return _resume(words, given, resume, retry_unscored)
    here = Path.cwd()
    if config is None:
        return Asked(options=merge({}, given, words), folder=here)
    from benchflow.runner.config import read_config

    base, folder = read_config(config), config.absolute().parent
    options = dict(merge(base, given, words))
    if not folder.samefile(here):
        options = {"out": here / "runs", **anchor(options, base, here)}
    if set(given.get("mode", ())) == {BASELINE_NAME} and "modes" not in given:
        options.pop("modes", None)  # those of the file are not wanted this time
    return Asked(options=options, folder=folder)


def _resume(words: Sequence[str], given: Options, text: str, retry_unscored: bool) -> Asked:
    """Go on with a run where it was begun, if that is still there, and else here."""
    from benchflow.runner.resuming import Resumed, find_run, stored_options
    from benchflow.store import StoredRun

    here = Path.cwd()
    run = find_run(text, given.get("out", Path("runs")))
    base, folder = stored_options(run)
    options = merge(base, {name: value for name, value in given.items() if name != "out"}, words)
    if not folder.is_dir() or folder.samefile(here):
        folder = here
    else:
        options, run = anchor(options, base, here), StoredRun(run.folder.absolute())
    if run.folder.name != run.id:  # as `.` has no name
        run = StoredRun(run.folder.resolve())
    return Asked(options=options, folder=folder, resumed=Resumed(run=run, retry_unscored=retry_unscored))
