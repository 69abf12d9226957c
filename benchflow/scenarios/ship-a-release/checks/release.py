"""Judges the released repository; the first argument says what of it."""

import hashlib
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

from benchflow_subject import evaluate, run

BEFORE = ["Release 1.4.0", "Begin 1.5.0", "Add parcel zones and the --metric option"]
BRANCH = ["Set version 1.5.0", "Remove deprecated code", "Date the changelog", "Update the documentation"]
STEPS = {
    "Set version 1.5.0": {"pyproject.toml", "parcel/__init__.py", "docs/settings.toml"},
    "Remove deprecated code": {"parcel/price.py", "tests/test_price.py", "DEPRECATIONS.md"},
    "Date the changelog": {"CHANGELOG.md"},
    "Update the documentation": {"docs/commands.md"},
    "Begin 1.6.0": {"pyproject.toml", "parcel/__init__.py", "docs/settings.toml", "CHANGELOG.md"},
}
RELEASED = """\
## 1.5.0 - 2024-06-03

### Added

- `parcel zones` lists the zones.
- `--metric` takes weights in kilograms.

### Fixed

- Heavy parcels to zone C are no longer charged twice.

### Removed

- `quote`, deprecated since 1.3
- `ZONES`, deprecated since 1.4

## 1.4.0 - 2024-03-04

### Added

- Zone C.

### Deprecated

- `--pounds` and `ZONES`.
"""
DOCUMENTATION = """\
# Commands of parcel 1.5.0

- `parcel price WEIGHT ZONE`: prints the price of a parcel, in euros
- `parcel zones`: lists the zones, nearest first
"""


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, check=True).stdout.decode()


def lines(text):
    """Return the lines that are not empty, without blanks at their ends."""
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def subjects(*arguments):
    entries = git("log", "--reverse", "-z", "--format=%B", *arguments).rstrip("\0")
    return [entry.strip() for entry in entries.split("\0")]


def versions(commit):
    return [
        tomllib.loads(git("show", f"{commit}:pyproject.toml"))["project"]["version"],
        re.search(r'__version__ = "(.*)"', git("show", f"{commit}:parcel/__init__.py")).group(1),
        tomllib.loads(git("show", f"{commit}:docs/settings.toml"))["release"],
    ]


def history():
    found = subjects("--first-parent", "main")
    assert found == [*BEFORE, "Release 1.5.0", "Begin 1.6.0"], f"main has {found}"
    parents = git("rev-list", "--parents", "-1", "main~1").split()[1:]
    assert len(parents) == 2, "the release is no merge commit"
    found = subjects("main~2..main~1^2")
    assert found == BRANCH, f"the release branch has {found}"
    assert git("diff", "main~1", "main~1^2") == "", "the merge differs from the branch"
    authors = set(git("log", "--format=%an <%ae>", "main~2..main").splitlines())
    assert authors == {"Mina Sato <mina@example.com>"}, f"the authors are {authors}"


def tag():
    assert git("cat-file", "-t", "v1.5.0").strip() == "tag", "v1.5.0 is no annotated tag"
    assert git("tag", "--list", "--format=%(contents)", "v1.5.0").strip() == "Version 1.5.0"
    assert git("rev-parse", "v1.5.0^{commit}") == git("rev-parse", "main~1"), "v1.5.0 marks another commit"
    refs = set(git("for-each-ref", "--format=%(refname)").split())
    assert refs == {"refs/heads/main", "refs/tags/v1.4.0", "refs/tags/v1.5.0"}, f"the refs are {refs}"


def files():
    assert versions("v1.5.0") == ["1.5.0"] * 3, f"the versions are {versions('v1.5.0')}"
    changelog = git("show", "v1.5.0:CHANGELOG.md")
    assert lines(changelog) == ["# Changelog", *lines(RELEASED)], f"the changelog is\n{changelog}"
    documentation = git("show", "v1.5.0:docs/commands.md")
    assert documentation == DOCUMENTATION, f"docs/commands.md is\n{documentation}"
    table = git("show", "v1.5.0:DEPRECATIONS.md")
    rows = [line for line in lines(table) if line.startswith("| `")]
    assert rows == ["| `--pounds` | parcel/cli.py | 1.4 | 1.6.0 |"], f"DEPRECATIONS.md has {rows}"


def steps():
    for commit in git("rev-list", "--no-merges", "main", "^main~2").split():
        subject = git("log", "-1", "--format=%B", commit).strip()
        names = set(git("diff-tree", "-r", "--no-commit-id", "--name-only", commit).split())
        assert names == STEPS.get(subject), f"{subject!r} changes {sorted(names)}"


def code():
    released = tempfile.mkdtemp()
    git("archive", f"--output={released}/all.tar", "v1.5.0")
    subprocess.run(["tar", "-xf", "all.tar"], cwd=released, check=True)
    found = evaluate(
        "import parcel.price as p\n"
        "result = [hasattr(p, 'quote'), hasattr(p, 'ZONES'), p.zones(), p.price(10_000, 'C'), p.price(1_001, 'B')]",
        path=[released],
    )
    assert found == [False, False, ["A", "B", "C"], 2980, 700], f"parcel.price has {found}"
    weight = run("-m", "parcel", "price", "1", "A", "--pounds", path=[released])
    assert weight.stdout == "3.90\n", f"--pounds no longer works: {weight.stderr}"
    tests = run("-m", "unittest", path=[released], folder=released)
    assert tests.returncode == 0, tests.stderr
    assert "Ran 5 tests" in tests.stderr, tests.stderr


def archive():
    path = Path("dist/parcel-1.5.0.tar.gz")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert Path("dist/SHA256SUMS").read_text().split() == [digest, path.name], "SHA256SUMS is wrong"
    with tarfile.open(path) as packed:
        found = {member.name: packed.extractfile(member).read() for member in packed if member.isfile()}
    names = git("ls-tree", "-r", "--name-only", "v1.5.0").split()
    assert sorted(found) == sorted(f"parcel-1.5.0/{name}" for name in names), f"the archive has {sorted(found)}"
    for name in names:
        assert found[f"parcel-1.5.0/{name}"].decode() == git("show", f"v1.5.0:{name}"), f"{name} is another one"


def next_version():
    assert versions("main") == ["1.6.0.dev0"] * 3, f"the versions are {versions('main')}"
    changelog = git("show", "main:CHANGELOG.md")
    assert changelog.startswith("# Changelog\n\n## Unreleased\n\n- Nothing yet\n\n## 1.5.0 - "), changelog[:200]
    assert lines(changelog)[3:] == lines(RELEASED), f"the changelog is\n{changelog}"


def clean():
    branch = git("symbolic-ref", "--short", "HEAD").strip()
    assert branch == "main", f"{branch} is checked out"
    status = git("status", "--porcelain")
    assert not status, f"the working tree is not clean:\n{status}"


PARTS = {
    "history": history,
    "tag": tag,
    "files": files,
    "steps": steps,
    "code": code,
    "archive": archive,
    "next": next_version,
    "clean": clean,
}
PARTS[sys.argv[1]]()
