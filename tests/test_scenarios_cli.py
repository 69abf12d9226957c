"""`benchflow scenarios`: list, show, check and new, as a user calls them."""

import json
from pathlib import Path

from command_line import TINY, open_shell

UNPROVEN = TINY.replace('"tiny"', '"unproven"').replace('path = "done.txt"', 'path = "other.txt"')


def test_list_names_what_is_there(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    ended = shell.run("scenarios")

    assert (ended.returncode, ended.stderr) == (0, "")
    assert "fix-failing-test" in ended.stdout
    assert max(map(len, ended.stdout.splitlines())) <= 80
    listed = json.loads(shell.run("scenarios", "list", "./tiny", "--json").stdout)
    assert [(one["id"], one["checks"], one["solution_steps"]) for one in listed] == [("tiny", 1, 1)]


def test_show_says_all_of_one(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    shown = shell.run("scenarios", "show", "move-staging-database").stdout

    for part in ("deploy/staging.toml", "production-unchanged (guard)", "2. write deploy/CHANGES.md"):
        assert part in shown
    whole = json.loads(shell.run("scenarios", "show", "./tiny", "--json").stdout)
    assert whole["prompts"] == ["Write the file done.txt with the word done in it."]
    assert whole["solution"]["steps"] == [{"write": "done.txt", "content": "done\n"}]


def test_check_tells_which_measure_something(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    shell.write("unproven/scenario.toml", UNPROVEN)
    words = ("scenarios", "check", "--sandbox", "process", "-n", "2")
    good, bad = shell.run(*words, "./tiny"), shell.run(*words, "./tiny", "./unproven", "--json")

    assert (good.returncode, bad.returncode) == (0, 1)
    assert "tiny ok 1 1.00 0.00" in " ".join(good.stdout.split())
    proofs = json.loads(bad.stdout)
    assert [(proof["scenario"], proof["passed"]) for proof in proofs] == [("tiny", True), ("unproven", False)]
    reason = "the solution fails file_exists-1 (other.txt exists): no such file in the workspace"
    assert proofs[1]["reasons"] == [reason]
    assert "unproven: FAILED" in bad.stderr
    assert list((tmp_path / "home/scratch").iterdir()) == []


CHANGES = {
    "easy": ("[[solution.steps]]", '[workspace.files]\n"done.txt" = ""\n[[solution.steps]]'),
    "broken": ('write = "done.txt"\ncontent = "done\\n"', 'run = "touch done.txt; exit 4"'),
    "unsolved": ('[[solution.steps]]\nwrite = "done.txt"\ncontent = "done\\n"\n', ""),
    "flaky": (
        'kind = "file_exists"\npath = "done.txt"',
        'kind = "command"\nrun = "test -e done.txt -a ! -e ../../../seen && touch ../../../seen"',
    ),
    "generous": (
        "[[solution.steps]]",
        '[[checks]]\nkind = "output_matches"\npattern = "^"\nweight = 2\n[[solution.steps]]',
    ),
}
"""Mistakes in the tiny scenario, as replacements in its text."""


def test_check_finds_what_is_wrong(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    for name, (old, new) in CHANGES.items():
        assert old in TINY
        shell.write(f"many/{name}/scenario.toml", TINY.replace('"tiny"', f'"{name}"').replace(old, new))
    ended = shell.run("scenarios", "check", "./many", "--sandbox", "process", "-n", "2", "--json")

    assert ended.returncode == 1
    reasons = {proof["scenario"]: proof["reasons"] for proof in json.loads(ended.stdout)}
    assert reasons["easy"] == ["doing nothing succeeds; check what only the work can bring about"]
    assert reasons["broken"] == ["step 1 of the solution ended with 4: touch done.txt; exit 4\n"]
    assert reasons["unsolved"] == ["it has no solution; add [[solution.steps]] or solution.answer"]
    assert reasons["flaky"][0].startswith("the repetitions disagree: 1 of 2 fail command-1")
    assert reasons["generous"] == ["doing nothing scores 0.67, more than 0.5; give such checks less weight"]


def test_new_makes_one_that_passes_its_check(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    made = shell.run("scenarios", "new", "my-own", "--dir", "mine")

    assert (made.returncode, made.stdout) == (0, "mine/my-own\n")
    checked = shell.run("scenarios", "check", "mine/my-own", "--sandbox", "process", "-n", "1")
    assert (checked.returncode, "my-own: ok" in checked.stderr) == (0, True)
    again = shell.run("scenarios", "new", "my-own", "--dir", "mine")
    assert (again.returncode, again.stderr) == (
        2,
        "error: mine/my-own: is there already; choose another id, or remove it\n",
    )


def test_new_refuses_what_is_no_id(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)

    for wrong in ("../x", "Mine", "a b"):
        ended = shell.run("scenarios", "new", wrong, "--dir", "mine")
        assert ended.returncode == 2
        assert "cannot be an id" in ended.stderr
    assert not (tmp_path / "mine").exists() or list((tmp_path / "mine").iterdir()) == []


def test_bad_input_ends_with_two(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    shell.write("bad/scenario.toml", TINY.replace("prompt", "promt"))

    unknown = shell.run("scenarios", "show", "fix-faling-test")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "did you mean `fix-failing-test`" in unknown.stderr
    wrong = shell.run("scenarios", "list", "./bad")
    assert (wrong.returncode, "unknown key `promt`; did you mean `prompt`" in wrong.stderr) == (2, True)
