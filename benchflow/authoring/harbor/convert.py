"""Writes the scenario of a task, whose verifier's reward is the score.

Its scripts name places of a container. Where those are in a sandbox is known only when they run: a few lines put the
real paths in then.
"""

import posixpath
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchflow.authoring.harbor.task import LOGS, SOLUTION, TESTS, Task
from benchflow.authoring.toml_text import quote
from benchflow.errors import InputError
from benchflow.scenario import SCENARIO_FILE, load_scenario

PYTEST = "pytest==8.4.2"
_DEFAULT_TIMEOUT_S = 600.0
_DIFFICULTIES = ("easy", "medium", "hard")

_PUT = """\
put() {  # FOLDER PLACE PATH: name PATH wherever the files of FOLDER name PLACE
  { grep -rIlZ -e "$2" "$1" || true; } |
    xargs -0 -r sed -i -E -e ":again; s#(^|[^A-Za-z0-9_./-])$2(\\$|[^A-Za-z0-9_.-])#\\\\1@PLACE@\\\\2#; t again" \\
      -e "s#@PLACE@#$3#g"
}
"""
_VERIFY = """\
#!/bin/bash
# Runs tests/test.sh as a verifier: in the workspace, with its tests and its logs elsewhere. Its reward is the score.
set -eu
work=$PWD
place=$(mktemp -d)
mkdir -p "$place/logs"
cp -R "$BENCHFLOW_CHECKS/tests" "$place/tests"
{put}put "$place/tests" {logs} "$place/logs"
put "$place/tests" {tests} "$place/tests"
put "$place/tests" {workdir} "$work"
unset PYTEST_DISABLE_PLUGIN_AUTOLOAD  # its own plugins are among the tools
code=0
bash "$place/tests/test.sh" || code=$?
for name in reward.json reward.txt; do
  if [ -s "$place/logs/$name" ]; then
    cp "$place/logs/$name" "$BENCHFLOW_REWARD"
    exit "$code"
  fi
done
echo "tests/test.sh ended with $code and wrote no reward"
exit 1
"""
_SOLVE = """\
place=$(mktemp -d)
{files}{put}put "$place" {solution} "$place"
put "$place" {workdir} "$PWD"
bash "$place/solve.sh"
"""


@dataclass(frozen=True, kw_only=True)
class Imported:
    """What came of a task."""

    task: Path
    scenario: Path | None
    """Its folder; None: it cannot be converted."""
    reasons: tuple[str, ...]
    """Why not."""
    notes: tuple[str, ...]
    """What is not as in its container."""


def convert(task: Task, out: Path) -> Imported:
    """Write the scenario of a task below `out`, or say why there is none."""
    if task.reasons:
        return _refused(task, *task.reasons)
    assert task.tests is not None, "a task without tests has a reason"
    folder = out / identifier(task)
    if folder.exists():
        return _refused(task, f"{folder}: is there already; remove it, or name another folder with --dir")
    try:
        _copy_workspace(task, folder / "workspace")
        shutil.copytree(task.folder / "tests", folder / "checks" / "tests", symlinks=True)
        (folder / "checks" / "tests" / "test.sh").write_text(task.tests.text, encoding="utf-8")
        places = {"logs": LOGS, "tests": TESTS, "workdir": task.image.workdir}
        (folder / "checks" / "verify.sh").write_text(_VERIFY.format(put=_PUT, **places), encoding="utf-8")
        (folder / SCENARIO_FILE).write_text("\n".join(_scenario(task)), encoding="utf-8")
        load_scenario(folder)
    except (OSError, UnicodeError, InputError) as exc:
        shutil.rmtree(folder, ignore_errors=True)
        return _refused(task, f"it makes no scenario: {exc}")
    return Imported(task=task.folder, scenario=folder, reasons=(), notes=tuple(_notes(task)))


def _refused(task: Task, *reasons: str) -> Imported:
    return Imported(task=task.folder, scenario=None, reasons=reasons, notes=())


def identifier(task: Task) -> str:
    """Return the scenario's id: the task's folder, in the letters that an id may have."""
    return re.sub(r"[^a-z0-9._-]+", "-", task.name.lower()).strip("-._") or "task"


def _notes(task: Task) -> Iterator[str]:
    yield f"{task.image.base} is replaced by this machine's own tools, and the agent is no root"
    if not task.section("environment").get("allowed_hosts"):
        yield "the agent reaches its model and no other host"
    if task.solution is None:
        yield "it has no solution/solve.sh, so that neither `scenarios check` nor the oracle can prove it"


def _copy_workspace(task: Task, workspace: Path) -> None:
    context, workdir = task.folder / "environment", task.image.workdir
    workspace.mkdir(parents=True)
    for place in task.image.folders:
        (workspace / posixpath.relpath(place, workdir)).mkdir(parents=True, exist_ok=True)
    for pattern, target in task.image.copies:
        place = workspace / posixpath.relpath(target, workdir)
        inside = posixpath.normpath(f"/{pattern}").lstrip("/")  # an absolute path is one in the context
        found = sorted(context.glob(inside)) if inside else [context]
        if not found:
            raise OSError(f"environment/{pattern}: is not there")
        for source in found:
            if source.is_dir():
                shutil.copytree(source, place, dirs_exist_ok=True, symlinks=True)
                continue
            target_file = place / source.name if target.endswith("/") else place
            target_file.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target_file, follow_symlinks=False)


def _scenario(task: Task) -> Iterator[str]:
    metadata, agent = task.section("metadata"), task.section("agent")
    packages = list(task.tests.packages if task.tests else ())
    if task.tests and "pytest" in task.tests.text and not any(name.startswith("pytest==") for name in packages):
        packages.insert(0, PYTEST)
    difficulty = metadata.get("difficulty")
    title = str(task.section("task").get("name") or task.name)
    yield "# Made of a task of Harbor. `benchflow scenarios check THIS_FOLDER` proves that it measures something.\n"
    yield f"schema_version = 1\nid = {quote(identifier(task))}\nname = {quote(title)}"
    yield f"description = {quote(str(task.section('task').get('description') or f'A task of Harbor, {title}.'))}"
    yield f"difficulty = {quote(difficulty)}" if difficulty in _DIFFICULTIES else ""
    yield f"timeout_s = {float(agent.get('timeout_sec') or _DEFAULT_TIMEOUT_S)}"
    yield f"tags = [{', '.join(map(quote, ['harbor', *map(str, metadata.get('tags') or ())]))}]"
    yield f"prompt = {quote(_relative(task.instruction, task.image.workdir))}"
    hosts = task.section("environment").get("allowed_hosts")
    yield f"\n[workspace]\nhosts = [{', '.join(map(quote, map(str, hosts)))}]" if hosts else ""
    yield f"\n[tools]\npython = [{', '.join(map(quote, packages))}]" if packages else ""
    yield '\n[[checks]]\nid = "verifier"\nkind = "reward"\ndescription = "the task\'s own verifier"'
    yield 'run = "bash \\"$BENCHFLOW_CHECKS/verify.sh\\""'
    yield f"timeout_s = {float(task.section('verifier').get('timeout_sec') or _DEFAULT_TIMEOUT_S)}\n"
    if task.solution is not None:
        yield f"[[solution.steps]]\nrun = {quote(_solve(task))}\n"


def _relative(text: str, workdir: str) -> str:
    """Name the files of the working directory as one sees them from there."""
    place = re.escape(workdir)
    text = re.sub(rf"(?<![\w./-]){place}/(?=[\w.])", "", text)
    return re.sub(rf"(?<![\w./-]){place}/?(?![\w-])", "./", text)


def _solve(task: Task) -> str:
    """The solution as one line of bash: its files are written where it can find them."""
    files = []
    for path in sorted(path for path in (task.folder / "solution").rglob("*") if path.is_file()):
        name = path.relative_to(task.folder / "solution").as_posix()
        text, end = path.read_text(encoding="utf-8"), f"END-OF-{len(files)}"
        while end in text:
            end += "-"
        folder = f'mkdir -p "$place"/{shlex.quote(posixpath.dirname(name))}\n' if "/" in name else ""
        files.append(f"{folder}cat > \"$place\"/{shlex.quote(name)} <<'{end}'\n{_closed(text)}{end}\n")
    return _SOLVE.format(files="".join(files), put=_PUT, solution=SOLUTION, workdir=task.image.workdir)


def _closed(text: str) -> str:
    return text if text.endswith("\n") or not text else f"{text}\n"
