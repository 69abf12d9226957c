import os
import tempfile
import tomllib
from pathlib import Path

import pytest
from command_line import Shell
from hypothesis import given, settings
from hypothesis import strategies as st
from repositories import FIXED, MODULE, MORE_TESTS, TESTS, commit

from benchflow.authoring.commit import Commit, read_commit
from benchflow.authoring.commit_tests import is_python_test, is_test, needs_pytest
from benchflow.authoring.from_commit import make_draft, write_scenario
from benchflow.authoring.toml_text import quote
from benchflow.errors import InputError
from benchflow.scenario import load_scenario
from benchflow.scenario_sources.git import Git

MESSAGE = 'Leave punctuation out\n\n"Hello, World!" became hello,-world!\n\nSigned-off-by: A <a@example.org>\n'


def begin(folder: Path) -> None:
    """A small package with tests, before anything was fixed."""
    commit(folder, {"src/slug/__init__.py": MODULE, "tests/test_slug.py": TESTS, "tests/test_old.py": TESTS})


def draft_of(repository: Path, tmp_path: Path, revision: str = "HEAD") -> Path:
    """Write the scenario of a commit without running anything; return its folder."""
    with tempfile.TemporaryDirectory() as scratch:
        git = Git.create(Path(scratch) / "git")
        draft = make_draft(read_commit(str(repository), revision, git), git, tmp_path / "made")
    write_scenario(draft, draft.checks)
    return draft.folder


def read(repository: Path, revision: str = "HEAD") -> Commit:
    with tempfile.TemporaryDirectory() as scratch:
        return read_commit(str(repository), revision, Git.create(Path(scratch) / "git"))


def test_a_fixing_commit_becomes_a_scenario_that_passes_its_proof(tmp_path: Path) -> None:
    begin(tmp_path / "repository")
    commit(tmp_path / "repository", {"src/slug/__init__.py": FIXED, "tests/test_slug.py": MORE_TESTS}, MESSAGE)
    shell = Shell(tmp_path)

    made = shell.run("scenarios", "from-commit", "repository", "HEAD", "--dir", "made")
    checked = shell.run("scenarios", "check", made.stdout.strip(), "-n", "1")

    assert made.returncode == 0, made.stderr
    assert "check: tests/test_slug.py fails before the commit and passes after it" in made.stderr
    assert "guard: tests/test_old.py passes before and after it" in made.stderr
    assert checked.returncode == 0, checked.stdout
    scenario = load_scenario(tmp_path / made.stdout.strip())
    assert [(check.id, check.weight) for check in scenario.checks] == [
        ("tests/test_slug.py", 1),
        ("tests/test_old.py", 0),
    ]
    assert scenario.prompts[0].startswith(
        'Leave punctuation out\n\n"Hello, World!" became hello,-world!\n\nThat describes'
    )


def test_tests_that_pass_before_the_commit_are_said_to_measure_nothing(tmp_path: Path) -> None:
    begin(tmp_path / "repository")
    commit(tmp_path / "repository", {"src/slug/__init__.py": FIXED, "tests/test_slug.py": TESTS + "\n# more to come\n"})

    ended = Shell(tmp_path).run("scenarios", "from-commit", "repository", "HEAD")

    assert ended.returncode == 1
    assert "it measures nothing: the commit's tests pass before it already" in " ".join(ended.stderr.split())


def test_the_parent_is_the_workspace_the_tests_are_hidden_and_the_rest_is_the_solution(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    begin(repository)
    commit(repository, {"old.txt": "old\n", "data/table.csv": "a,b\n"})
    (repository / "data" / "link").symlink_to("table.csv")
    (repository / "icon.bin").write_bytes(b"\xff\x00\n")
    (repository / "run.sh").write_text("#!/bin/sh\necho 'it''s'\n")
    (repository / "run.sh").chmod(0o755)
    commit(repository, {"src/slug/__init__.py": FIXED, "tests/test_slug.py": MORE_TESTS, "old.txt": None})

    folder = draft_of(repository, tmp_path)

    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()) == [
        "checks/tests/test_old.py",
        "checks/tests/test_slug.py",
        "scenario.toml",
        "workspace/data/table.csv",
        "workspace/old.txt",
        "workspace/src/slug/__init__.py",
        "workspace/tests/test_old.py",
        "workspace/tests/test_slug.py",
    ]
    assert (folder / "checks/tests/test_slug.py").read_text() == MORE_TESTS
    assert (folder / "workspace/tests/test_slug.py").read_text() == TESTS
    solution = load_scenario(folder).solution
    assert solution is not None
    assert [step.model_dump() for step in solution.steps] == [
        {"run": "rm -f -- old.txt"},
        {"run": "mkdir -p data && ln -sfn -- table.csv data/link"},
        {"run": "mkdir -p . && base64 -d > icon.bin <<'END'\n/wAK\nEND"},
        {"write": "run.sh", "content": "#!/bin/sh\necho 'it''s'\n"},
        {"run": "chmod 755 -- run.sh"},
        {"write": "src/slug/__init__.py", "content": FIXED},
    ]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"src/slug/__init__.py": FIXED}, "changes no tests, so that nothing would say whether an agent did it"),
        ({"tests/test_slug.py": MORE_TESTS}, "changes tests only, so that it has no solution"),
        (
            {"src/slug/__init__.py": FIXED, "tests/slug.test.js": "test()"},
            "its tests (tests/slug.test.js) are no Python",
        ),
        (
            {"src/slug/__init__.py": FIXED, "tests/test_slug.py": None},
            "are no Python test files that it adds or changes",
        ),
    ],
)
def test_a_commit_without_what_a_scenario_needs_is_refused_and_why_is_said(
    files: dict[str, str | None], message: str, tmp_path: Path
) -> None:
    begin(tmp_path / "repository")
    commit(tmp_path / "repository", files)

    with pytest.raises(InputError) as error:
        draft_of(tmp_path / "repository", tmp_path)

    assert message in str(error.value)
    assert not (tmp_path / "made").exists()


def test_the_first_commit_and_one_that_is_not_there_are_refused(tmp_path: Path) -> None:
    begin(tmp_path / "repository")

    with pytest.raises(InputError, match="it is the first commit"):
        read(tmp_path / "repository")
    with pytest.raises(InputError, match="is no folder; name a repository's folder, or its URL"):
        read_commit("", "HEAD", Git(tmp_path))
    with pytest.raises(InputError, match="0000000 names no commit in it"):
        read(tmp_path / "repository", "0000000")


@pytest.mark.parametrize(
    "url", ["https://a:secret@x/y", "https://token@x/y", "--upload-pack=touch x://y", "http://x/y"]
)
def test_a_url_that_could_run_something_or_holds_a_secret_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"leave the password out|is not of https, ssh, file"):
        read_commit(url, "a" * 40, Git.create(tmp_path / "git"))


def test_a_changed_file_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    begin(tmp_path / "repository")
    (tmp_path / "repository" / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    commit(tmp_path / "repository", {"src/slug/__init__.py": FIXED, "tests/test_slug.py": MORE_TESTS})

    with pytest.raises(InputError, match="whose name is no UTF-8"):
        draft_of(tmp_path / "repository", tmp_path)


def test_a_package_without_a_version_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    begin(tmp_path / "repository")
    commit(tmp_path / "repository", {"src/slug/__init__.py": FIXED, "tests/test_slug.py": MORE_TESTS})
    shell = Shell(tmp_path)

    ended = shell.run("scenarios", "from-commit", "repository", "HEAD", "--dir", "made", "--package", "numpy")

    assert (ended.returncode, "tools.python[1]: must be pinned" in ended.stderr) == (2, True), ended.stderr
    assert list((tmp_path / "made").iterdir()) == []


def test_a_scenario_that_is_there_already_is_not_written_over(tmp_path: Path) -> None:
    begin(tmp_path / "repository")
    commit(tmp_path / "repository", {"src/slug/__init__.py": FIXED, "tests/test_slug.py": MORE_TESTS})
    draft_of(tmp_path / "repository", tmp_path)

    with pytest.raises(InputError, match="is there already; remove it, or name another folder with --dir"):
        draft_of(tmp_path / "repository", tmp_path)


@pytest.mark.parametrize(
    ("path", "test", "python"),
    [
        ("tests/test_a.py", True, True),
        ("tests/data/table.csv", True, False),
        ("src/pkg/a_test.py", True, True),
        ("conftest.py", True, False),
        ("tests/helpers.py", True, False),
        ("pkg/a_test.go", True, False),
        ("web/a.spec.tsx", True, False),
        ("src/pkg/latest.py", False, False),
        ("src/contest/a.py", False, False),
    ],
)
def test_tests_are_told_by_folder_and_name(path: str, test: bool, python: bool) -> None:
    assert (is_test(path), is_python_test(path)) == (test, python)


def test_tests_of_unittest_need_no_pytest() -> None:
    assert needs_pytest("def test_a():\n    pass\n")
    assert needs_pytest("import pytest\n")
    assert not needs_pytest("import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n")


@settings(max_examples=200)
@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\"'\\\n\r\t\x7f"), max_size=40))
def test_every_text_comes_back_from_toml_as_it_was(text: str) -> None:
    assert tomllib.loads(f"text = {quote(text)}") == {"text": text}
