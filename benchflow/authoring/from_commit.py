"""Makes a scenario of a commit that fixed something: its parent is the workspace, its tests are hidden, the rest is the
solution. Writes files; what they measure is for `commit_proof` to see.
"""

import base64
import os
import re
import shlex
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchflow.authoring.commit import Commit
from benchflow.authoring.commit_tests import beside, is_python_test, is_test, needs_pytest
from benchflow.authoring.toml_text import quote
from benchflow.errors import InputError
from benchflow.scenario import SCENARIO_FILE
from benchflow.scenario_sources.files import Entry, read_blobs, write_files
from benchflow.scenario_sources.git import Git

PYTEST = "pytest==8.4.2"
MAX_NEIGHBOURS = 20
"""Test files beside the changed ones that guard what worked before."""
_LINK = "120000"
_PROGRAM = "100755"


@dataclass(frozen=True, kw_only=True)
class FileCheck:
    """A check that runs one test file of the commit."""

    path: str
    weight: float
    """0: it passes before, and guards that it goes on to."""


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A scenario of a commit, before its file is written: the folders are there."""

    folder: Path
    id: str
    commit: Commit
    pytest: bool
    packages: Sequence[str]
    checks: Sequence[FileCheck]
    steps: str
    """The solution, as TOML."""


def make_draft(commit: Commit, git: Git, folder: Path, packages: Sequence[str] = ()) -> Draft:
    """Write `workspace/` and `checks/` into a new folder below `folder`. Raises InputError where the commit has no
    tests that we can run, or no change but them.
    """
    tests = [path for path in commit.changed if path in commit.after and is_python_test(path)]
    _require_both(commit, tests)
    identifier = f"{re.sub(r'[^a-z0-9]+', '-', commit.name.lower()).strip('-') or 'repository'}-{commit.id[:8]}"
    made = folder / identifier
    if made.exists():
        raise InputError(f"{made}: is there already; remove it, or name another folder with --dir")
    support = beside(tests, commit.after)
    neighbours = [path for path in support if is_python_test(path) and path not in tests][:MAX_NEIGHBOURS]
    try:
        write_files(git, commit.before.values(), made / "workspace")
        write_files(git, [commit.after[path] for path in sorted({*tests, *support})], made / "checks")
        steps = _solution_steps(commit, git)
    except (InputError, OSError, UnicodeError) as exc:
        shutil.rmtree(made, ignore_errors=True)
        raise InputError(f"{commit.repository}: commit {commit.id}: {exc}") from exc
    sources = read_blobs(git, [commit.after[path].blob for path in [*tests, *neighbours]])
    return Draft(
        folder=made,
        id=identifier,
        commit=commit,
        pytest=any(needs_pytest(source.decode("utf-8", "replace")) for source in sources),
        packages=packages,
        checks=[FileCheck(path=path, weight=1.0 if path in tests else 0.0) for path in [*tests, *neighbours]],
        steps=steps,
    )


def write_scenario(draft: Draft, checks: Sequence[FileCheck]) -> Path:
    """Write the draft's scenario.toml with these checks, and return it."""
    path = draft.folder / SCENARIO_FILE
    path.write_text(
        "\n".join([_head(draft), *(_check(draft, check) for check in checks), draft.steps]), encoding="utf-8"
    )
    return path


def _require_both(commit: Commit, tests: Sequence[str]) -> None:
    named = f"{commit.repository}: commit {commit.id[:12]} ({commit.subject})"
    changed = commit.changed
    for path in changed:
        if os.fsencode(path) != path.encode("utf-8", "replace"):
            raise InputError(f"{named}: changes {path!r}, whose name is no UTF-8; {SCENARIO_FILE} cannot name it")
    if not any(map(is_test, changed)):
        raise InputError(
            f"{named}: changes no tests, so that nothing would say whether an agent did it; "
            "choose a commit with tests, or write checks yourself: `benchflow scenarios new`"
        )
    if not tests:
        others = ", ".join([path for path in changed if is_test(path)][:3])
        raise InputError(
            f"{named}: its tests ({others}) are no Python test files that it adds or changes, and others cannot be run "
            "here; write a check that runs them yourself: `benchflow scenarios new`"
        )
    if all(map(is_test, changed)):
        raise InputError(
            f"{named}: changes tests only, so that it has no solution; choose the commit that makes them pass"
        )


def _head(draft: Draft) -> str:
    commit = draft.commit
    packages = [*([PYTEST] if draft.pytest else []), *draft.packages]
    tools = f"\n[tools]\npython = [{', '.join(map(quote, packages))}]\n" if packages else ""
    prompt = (
        f"{commit.message or commit.subject}\n\n"
        "That describes a change that the repository in the current folder needs. Make it there.\n"
        "Tests that you cannot see will check it.\n"
    )
    return f"""\
# Made of a commit: {commit.repository.splitlines()[0]} at {commit.id}
# Its parent {commit.parent} is the workspace. Edit what follows, then:
# benchflow scenarios check {draft.folder.name}
schema_version = 1
id = {quote(draft.id)}
name = {quote(commit.subject[:80])}
description = {quote(f"What commit {commit.id[:12]} of {commit.name} did.")}
tags = ["commit"]

# EDIT: this is the message of the commit. Say what is wrong, or wanted, without giving the answer away, and name
# everything that the hidden tests rely on.
prompt = {quote(prompt)}
{tools}"""


def _check(draft: Draft, check: FileCheck) -> str:
    paths = [
        "$BENCHFLOW_CHECKS",
        *sorted({f"$BENCHFLOW_CHECKS/{_above(check.path)}"} - {"$BENCHFLOW_CHECKS/"}),
        "src",
        ".",
    ]
    words = " ".join(f'--path "{path}"' if "$" in path else f"--path {path}" for path in paths)
    pytest = "--pytest " if draft.pytest else ""
    says = f"{check.path} {'passes' if check.weight else 'passes as before'}"
    return f"""
[[checks]]
id = {quote(check.path)}
kind = "command"
description = {quote(says)}
run = {quote(f"python3 -m benchflow_tests {pytest}{words} {shlex.quote(check.path)}")}
timeout_s = 300
weight = {check.weight:g}
"""


def _above(path: str) -> str:
    return path.rpartition("/")[0]


def _solution_steps(commit: Commit, git: Git) -> str:
    changed = [path for path in commit.changed if not is_test(path)]
    written = [commit.after[path] for path in changed if path in commit.after]
    contents = read_blobs(git, [entry.blob for entry in written])
    steps = [
        _step(entry, content, commit.before.get(entry.path)) for entry, content in zip(written, contents, strict=True)
    ]
    removed = [path for path in changed if path not in commit.after]
    if removed:
        steps.insert(0, _run(f"rm -f -- {_words(removed)}"))
    answer = f"\n[solution]\nanswer = {quote(f'Done: {commit.subject}')}\n"
    return "\n# The rest of the commit: how it was done.\n" + "\n".join([*steps, answer])


def _step(entry: Entry, content: bytes, before: Entry | None) -> str:
    path = shlex.quote(entry.path)
    folder = shlex.quote(_above(entry.path) or ".")
    if entry.mode == _LINK:
        return _run(f"mkdir -p {folder} && ln -sfn -- {shlex.quote(content.decode())} {path}")
    mode = "755" if entry.mode == _PROGRAM else "644"
    chmod = _run(f"chmod {mode} -- {path}") if entry.mode != (before.mode if before else "100644") else ""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        coded = base64.b64encode(content).decode()
        return _run(f"mkdir -p {folder} && base64 -d > {path} <<'END'\n{coded}\nEND") + chmod
    return f"\n[[solution.steps]]\nwrite = {quote(entry.path)}\ncontent = {quote(text)}\n{chmod}"


def _run(line: str) -> str:
    return f"\n[[solution.steps]]\nrun = {quote(line)}\n"


def _words(paths: Iterable[str]) -> str:
    return " ".join(map(shlex.quote, paths))
