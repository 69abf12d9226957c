"""Scenarios as people write them: what loads, what is refused and in which words, and what makes them different."""

from collections.abc import Callable
from pathlib import Path

import pytest
from scenario_rig import HEAD, ONE_CHECK, check, write_scenario

from benchflow.contracts import Limits
from benchflow.errors import InputError
from benchflow.scenario import RunStep, WriteStep, find_scenarios, load_scenario


def complaint(tmp_path: Path, text: str) -> str:
    """Return what is said of a scenario, without its path."""
    with pytest.raises(InputError) as caught:
        load_scenario(write_scenario(tmp_path, text))
    message = str(caught.value)
    assert message.startswith(f"{tmp_path / 'scenario.toml'}: ")
    return message.removeprefix(f"{tmp_path / 'scenario.toml'}: ")


def test_a_whole_scenario(tmp_path: Path) -> None:
    text = (
        'difficulty = "hard"\ntags = ["x", "y"]\nallowed_retries = 2\n'
        '[limits]\ntimeout_s = 7\n[workspace]\nsetup = "true"\nhosts = ["example.com"]\n'
        '[workspace.files]\n"a/b" = "c"\n'
        '[[solution.steps]]\nrun = "touch done.txt"\n[[solution.steps]]\nwrite = "note"\ncontent = "x"\n'
        '[solution]\nanswer = "Did it."\n[extensions]\nanything = [1, {b = 2}]\n' + ONE_CHECK
    )
    scenario = load_scenario(write_scenario(tmp_path, text))

    assert (scenario.prompts, scenario.difficulty, scenario.tags) == (("Do it.",), "hard", ("x", "y"))
    assert scenario.budget == Limits(timeout_s=7)
    assert scenario.solution is not None
    assert scenario.solution.steps == (RunStep(run="touch done.txt"), WriteStep(write="note", content="x"))
    assert scenario.solution.answer == "Did it."
    assert [one.id for one in scenario.checks] == ["file_exists-1"]
    assert scenario.extensions == {"anything": [1, {"b": 2}]}
    assert (scenario.folder, scenario.source) == (tmp_path, tmp_path / "scenario.toml")


def test_what_is_left_out_has_defaults(tmp_path: Path) -> None:
    scenario = load_scenario(write_scenario(tmp_path, ONE_CHECK + check("unchanged", paths=["a"])))

    assert scenario.budget == Limits(timeout_s=900)
    assert [one.weight for one in scenario.checks] == [1, 0]
    assert (scenario.solution, scenario.workspace_folder, scenario.checks_folder) == (None, None, None)


def test_several_prompts(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(HEAD.replace('prompt = "Do it."', 'prompts = ["One.", "Two."]') + ONE_CHECK)

    assert load_scenario(tmp_path).prompts == ("One.", "Two.")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tmeout_s = 3\n" + ONE_CHECK, "unknown key `tmeout_s`; did you mean `timeout_s`?"),
        ("[workspace]\nstup = ''\n" + ONE_CHECK, "workspace: unknown key `stup`; did you mean `setup`?"),
        (
            "[limits]\nmax_turn = 3\n" + ONE_CHECK,
            "limits: unknown key `max_turn`; did you mean `max_turns` or `max_tokens` or `grace_turns`?",
        ),
        (check("file_exists", pth="x"), "checks[1]: unknown key `pth`; did you mean `path`?"),
        (
            check("file_exist", path="x"),
            "checks[1]: unknown kind `file_exist`; did you mean `file_exists` or `file_equals`?",
        ),
        (ONE_CHECK + "[[checks]]\npath = 'x'\n", "checks[2].kind: is missing; add it"),
        (ONE_CHECK + "[[solution.steps]]\nrn = 'x'\n", "solution.steps[1]: unknown key `rn`; did you mean `run`?"),
        (ONE_CHECK + "[[solution.steps]]\nwrite = 'x'\n", "solution.steps[1].content: is missing; add it"),
    ],
)
def test_a_wrong_key_is_named_with_the_nearest(tmp_path: Path, text: str, said: str) -> None:
    assert complaint(tmp_path, text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('timeout_s = "3"\n' + ONE_CHECK, "timeout_s: must be a number, not text"),
        ("timeout_s = -3\n" + ONE_CHECK, "timeout_s: input should be greater than 0 (it is -3)"),
        ("timeout_s = true\n" + ONE_CHECK, "timeout_s: must be a number, not true or false"),
        ('tags = "x"\n' + ONE_CHECK, "tags: must be a list, not text"),
        ("description = 3\n" + ONE_CHECK, "description: must be text, not a number"),
        ("checks = []\n", "checks: needs at least one"),
        ("", "checks: is missing; add it"),
        ('difficulty = "harsh"\n' + ONE_CHECK, "difficulty: must be 'easy', 'medium' or 'hard', not 'harsh'"),
        (check("file_exists", path="x", weight=0), "every check has weight 0"),
        (check("file_exists", path="x", id="a") * 2, "two checks have the id `a`; rename one"),
        ("timeout_s = 3\n" + ONE_CHECK + "[limits]\ntimeout_s = 3\n", "`timeout_s` and `limits.timeout_s` are the"),
        ('prompts = ["x"]\n' + ONE_CHECK, "give either `prompt` or `prompts`"),
        (check("file_equals", path="x"), "checks[1]: give either `text` or `file`"),
        (check("output_matches", pattern="("), "checks[1].pattern: is no regular expression: missing )"),
        (check("rubric"), "a `[rubric]` and a check of kind `rubric` need each other; add the one that is missing"),
        ('[tools]\npython = ["pytest"]\n' + ONE_CHECK, "tools.python[1]: must be pinned, as in `pytest==8"),
    ],
)
def test_a_wrong_value_is_named_with_what_it_must_be(tmp_path: Path, text: str, said: str) -> None:
    assert complaint(tmp_path, text).startswith(said)


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x"])
def test_paths_stay_inside(tmp_path: Path, path: str) -> None:
    wrong = "must be a path inside the folder, with neither a leading `/` nor `..`; it is "

    assert complaint(tmp_path, check("file_exists", path=path)) == f"checks[1].path: {wrong}{path!r}"
    assert wrong in complaint(tmp_path, f'[workspace.files]\n"{path}" = "x"\n{ONE_CHECK}')
    assert wrong in complaint(tmp_path, f'{ONE_CHECK}[[solution.steps]]\nwrite = "{path}"\ncontent = ""\n')


def test_no_toml_names_the_line(tmp_path: Path) -> None:
    assert "line 6" in complaint(tmp_path, "x = 1\n[[checks]\n")


def test_another_schema_is_refused(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(HEAD.replace("= 1", "= 2") + ONE_CHECK)

    with pytest.raises(InputError, match="schema_version: must be 1, not 2"):
        load_scenario(tmp_path)


def test_a_rubric_names_its_criteria(tmp_path: Path) -> None:
    rubric = '[[rubric.criteria]]\nid = "clear"\ndescription = "Is it clear?"\n'
    scenario = load_scenario(
        write_scenario(tmp_path / "right", ONE_CHECK + check("rubric", criterion="clear") + rubric)
    )

    assert scenario.rubric is not None
    assert scenario.rubric.criteria[0].kind == "pass_fail"
    said = complaint(tmp_path, ONE_CHECK + check("rubric", criterion="clean") + rubric)
    assert said == "a check names the criterion `clean`, which `[rubric]` has not"


def test_a_hidden_file_that_is_not_there_is_found_when_loading(tmp_path: Path) -> None:
    said = complaint(tmp_path, check("file_equals", path="a", file="b.txt"))

    assert said == "file_equals-1: there is no checks/b.txt beside it; add it"


def rewrite(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / name
        path.write_text(path.read_text().replace(old, new))

    return change


FILES = {"workspace/data/in.txt": "1\n", "workspace/run.sh": "true\n", "checks/test_x.py": "x = 1\n"}
SOLVED = ONE_CHECK + '[[solution.steps]]\nrun = "touch done.txt"\n'


@pytest.mark.parametrize(
    "change",
    [
        rewrite("scenario.toml", "Do it.", "Do it!"),
        rewrite("scenario.toml", "touch done.txt", "touch  done.txt"),
        rewrite("scenario.toml", '"file_exists"', '"file_exists"\nweight = 2'),
        rewrite("workspace/data/in.txt", "1", "2"),
        rewrite("checks/test_x.py", "1", "2"),
        lambda folder: (folder / "workspace/data/in.txt").rename(folder / "workspace/data/out.txt"),
        lambda folder: (folder / "workspace/run.sh").chmod(0o755),
        lambda folder: (folder / "checks/more.py").touch(),
        lambda folder: (folder / "workspace/link").symlink_to("run.sh"),
    ],
)
def test_the_digest_is_over_everything_that_matters(tmp_path: Path, change: Callable[[Path], None]) -> None:
    folder = write_scenario(tmp_path, SOLVED, FILES)
    before = load_scenario(folder).digest
    change(folder)

    assert load_scenario(folder).digest != before


def test_the_digest_leaves_out_what_does_not_matter(tmp_path: Path) -> None:
    before = load_scenario(write_scenario(tmp_path / "a", SOLVED, FILES)).digest
    folder = write_scenario(tmp_path / "b", "# a comment\n" + SOLVED, FILES)
    (folder / "README.md").write_text("for people")
    (folder / "workspace/__pycache__").mkdir()
    (folder / "workspace/__pycache__/x.pyc").write_bytes(b"x")

    assert load_scenario(folder).digest == before


def test_a_link_out_of_the_scenario_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    folder = write_scenario(tmp_path / "sample", ONE_CHECK, {"workspace/in.txt": ""})
    (folder / "workspace/link").symlink_to(tmp_path / "secret")

    with pytest.raises(InputError, match=r"workspace/link: links to .*/secret, out of .*put the file itself there"):
        load_scenario(folder)


def named(folder: Path, identifier: str, tags: str = "[]") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    text = HEAD.replace("sample", identifier) + f"tags = {tags}\n" + ONE_CHECK
    (folder / "scenario.toml").write_text(text)
    return folder


def test_scenarios_are_found_by_path_folder_and_id(tmp_path: Path) -> None:
    one, two = named(tmp_path / "many/one", "one"), named(tmp_path / "many/group/two", "two")
    named(two / "workspace/inner", "inner")
    single = tmp_path / "single.toml"
    single.write_text(HEAD + ONE_CHECK)

    assert [each.id for each in find_scenarios([str(one)])] == ["one"]
    assert [each.id for each in find_scenarios([str(one / "scenario.toml")])] == ["one"]
    assert [each.id for each in find_scenarios([str(single), "fix-failing-test"])] == ["sample", "fix-failing-test"]
    assert sorted(each.id for each in find_scenarios([str(tmp_path / "many"), str(one)])) == ["one", "two"]


def test_all_means_the_bundled_ones() -> None:
    found = [each.id for each in find_scenarios(["all"])]

    assert "fix-failing-test" in found
    assert found == sorted(found)


def test_tags_and_exclusions_choose(tmp_path: Path) -> None:
    named(tmp_path / "a", "a", '["x"]')
    named(tmp_path / "b", "b", '["x", "y"]')
    named(tmp_path / "c", "c")

    assert [each.id for each in find_scenarios([str(tmp_path)], tags=["x"], exclude=["a"])] == ["b"]
    with pytest.raises(InputError, match=r"no scenario has the tag z; valid are x, y"):
        find_scenarios([str(tmp_path)], tags=["z"])
    with pytest.raises(InputError, match=r"cannot exclude `d`"):
        find_scenarios([str(tmp_path)], exclude=["d"])
    with pytest.raises(InputError, match="no scenario is left"):
        find_scenarios([str(tmp_path / "a")], exclude=["a"])


def test_what_is_not_there_comes_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no scenario `fix-faling-test`.*did you mean `fix-failing-test`"):
        find_scenarios(["fix-faling-test"])
    with pytest.raises(InputError, match="holds no scenario"):
        find_scenarios([str(tmp_path)])


def test_one_id_twice_is_refused(tmp_path: Path) -> None:
    named(tmp_path / "a", "same")
    named(tmp_path / "b", "same")

    with pytest.raises(InputError, match=r"two scenarios have the id `same`: .*/a/.* and .*/b/"):
        find_scenarios([str(tmp_path)])
