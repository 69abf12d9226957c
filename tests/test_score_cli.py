"""`benchflow score`: stored runs scored again from what they left behind, and what cannot be scored for sure."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import TINY, Shell, open_shell
from rubrics import TOML, said
from sandboxes import BOTH, entered
from scenario_rig import ONE_CHECK, check, make_rig, write_scenario
from stored import make_row, make_unscored, try_folder, write_run
from trials import TryLogs

from benchflow.contracts import LimitHit, ScorerCheckResult, ScorerResult
from benchflow.errors import InputError
from benchflow.judging.choice import JudgeChoice, ScorerChoice
from benchflow.outcome import BEFORE_SCORING
from benchflow.report.rescoring import counts
from benchflow.row import ProfileRow, read_rows
from benchflow.runner.rescore import RescoreRequest, RescoreResult, rescore_sync
from benchflow.runner.rescoring import said as said_by
from benchflow.runner.rescoring import with_verdict
from benchflow.scenario import load_scenario
from benchflow.store import Store, StoredRun
from benchflow.trace import build_trace
from benchflow.workspaces.rebuild import CannotRebuild, rebuild_from_diff, why_unsound
from benchflow.workspaces.workspace import Workspace

KEY = "sample-mini-baseline-0-1a2b3c4d"
DONE = "diff --git a/done.txt b/done.txt\nnew file mode 100644\n--- /dev/null\n+++ b/done.txt\n@@ -0,0 +1,1 @@\n+done\n"
VERDICT = ScorerResult(
    success=True,
    passed=1,
    total=1,
    details=(ScorerCheckResult(id="x", description="x", passed=True),),
    score=1.0,
    extensions={"judge": {"judge": "new"}},
)


def stored_run(
    tmp_path: Path, text: str, *, diff: str | None = DONE, files: dict[str, str] | None = None, **row: Any
) -> Path:
    """Write a run of one trial of a scenario, of which its diff, or these files of its workspace, were kept."""
    scenario = load_scenario(write_scenario(tmp_path / "sample", text))
    values = {"trial": KEY, "scenario_id": "sample", "scenario_digest": scenario.digest, **row}
    run = write_run(tmp_path / "runs", make_row(**values))
    (run / "run.json").write_text(json.dumps({"request": {"scenarios": [str(tmp_path / "sample")]}}))
    folder = try_folder(run, KEY)
    logs = TryLogs(folder)
    logs.opened()
    logs.prompted(10, "Do it.")
    logs.exchange(20, text="All done.")
    logs.said(31, "All done.")
    logs.answered(70)
    if diff is not None:
        (folder / "workspace.diff").write_text(diff)
    for name, content in (files or {}).items():
        (folder / "workspace" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "workspace" / name).write_text(content)
    return run


def score(
    run: Path, tmp_path: Path, *, judge: str | None = None, scorer: str | None = None, **more: Any
) -> RescoreResult:
    """Score a run again; `judge` is what a scripted judge answers."""
    if judge is not None:
        (tmp_path / "judge.json").write_text(json.dumps([judge]))
    choice = JudgeChoice(upstream=f"script:{tmp_path / 'judge.json'}" if judge is not None else None)
    return rescore_sync(request_for(run, choice, scorer=scorer, **more), environ(tmp_path))


def request_for(run: Path, judge: JudgeChoice, *, scorer: str | None = None, **more: Any) -> RescoreRequest:
    return RescoreRequest(run=str(run), scoring=ScorerChoice(scorer=scorer, judge=judge), sandbox="process", **more)


def environ(tmp_path: Path) -> dict[str, str]:
    return {"BENCHFLOW_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}


def after(result: RescoreResult) -> ProfileRow:
    (only,) = result.results
    assert only.after is not None, only.reason
    return only.after


@pytest.mark.parametrize(("kept", "origin"), [(True, "kept"), (False, "rebuilt")])
def test_checks_see_the_workspace_that_was_left(tmp_path: Path, kept: bool, origin: str) -> None:
    files = {"done.txt": "done\n", "sub/x": ""} if kept else None
    text = ONE_CHECK + check("file_equals", path="done.txt", text="done") + check("output_contains", text="all done")
    run = stored_run(tmp_path, text, files=files, success=False, score=0.0)
    result = score(run, tmp_path)

    row = after(result)
    assert (row.success, row.score, row.checks_passed, row.checks_total) == (True, 1.0, 3, 3)
    assert row.extensions["rescored"]["workspace"] == origin
    assert row.extensions["rescored"]["before"]["score"] == 0.0
    assert row.extensions["measured"]["tool_calls.total"]["value"] == 3  # collectors were asked
    assert (result.exit_code, counts(result.results)) == (0, {"scored": 1, "changed": 1, "as_before": 0, "broken": 0})


def test_new_rows_go_beside_the_old_ones_until_they_are_to_count(tmp_path: Path) -> None:
    run = stored_run(tmp_path, ONE_CHECK, diff="")
    before = (run / "rows.jsonl").read_bytes()
    first = score(run, tmp_path)

    assert (run / "rows.jsonl").read_bytes() == before
    assert [row.success for row in read_rows(first.file)] == [False]
    second = score(run, tmp_path, replace=True)
    assert [first.file.name, second.file.name] == ["rows.rescored-1.jsonl", "rows.rescored-2.jsonl"]
    assert (run / "rows.jsonl").read_bytes().startswith(before)
    assert [row.success for row in StoredRun(run).rows] == [False]


def test_a_rubric_needs_no_workspace(tmp_path: Path) -> None:
    run = stored_run(tmp_path, ONE_CHECK + check("rubric") + TOML, diff="Binary files a/x and b/x differ (1 to 2)\n")
    row = after(score(run, tmp_path, judge=said("pass", 3), scorer="rubric"))

    assert (row.score, row.extensions["rescored"]["workspace"]) == (0.625, "unused")
    assert row.extensions["judge"]["calls"] == 1
    asked = (run / "trials" / KEY / "try-1" / "rescored-1" / "judge" / "llm.jsonl").read_text()
    assert "Binary files a/x and b/x differ" in asked
    assert (row.tokens, row.cost) == (make_row().tokens, make_row().cost)


def test_a_judge_that_fails_leaves_the_row_as_it_was(tmp_path: Path) -> None:
    run = stored_run(tmp_path, ONE_CHECK + check("rubric") + TOML)
    result = score(run, tmp_path, judge="I pass it.", replace=True)

    (only,) = result.results
    assert (only.after, only.broken, result.exit_code) == (None, True, 3)
    assert "it gave no verdict, asked twice" in (only.reason or "")
    assert [row.score for row in StoredRun(run).rows] == [1.0]


def test_a_trial_whose_judge_had_failed_is_scored_and_has_its_own_end_again(tmp_path: Path) -> None:
    ended = {"completion_reason": "timeout", "error_code": None, "error": None, "wrapped_up": False}
    run = stored_run(
        tmp_path,
        ONE_CHECK + check("rubric") + TOML,
        success=None,
        score=None,
        completion_reason="error",
        error_code="scorer",
        error="the judge failed",
        extensions={BEFORE_SCORING: ended, "judge": {"judge": "old"}},
    )
    row = after(score(run, tmp_path, judge=said()))

    assert (row.success, row.score, row.completion_reason, row.error_code, row.error) == (
        True,
        1.0,
        "timeout",
        None,
        None,
    )
    assert BEFORE_SCORING not in row.extensions


@pytest.mark.parametrize(
    ("diff", "reason"),
    [
        (None, "neither its workspace nor its diff is there"),
        (DONE + "# 3 more changed files are not shown\n", "its diff is not whole (3 more changed files are not shown)"),
        (DONE.replace("+done", "+[redacted:known]"), "a secret was taken out of its diff"),
        (DONE.replace("+1,1 @@", "+1,2 @@"), "its diff does not apply to a fresh workspace"),
        (DONE.replace("+1,1 @@", "+1 @@"), "its diff does not lead from a fresh workspace"),
    ],
)
def test_what_cannot_be_rebuilt_for_sure_stays_as_it_was(tmp_path: Path, diff: str | None, reason: str) -> None:
    result = score(stored_run(tmp_path, ONE_CHECK, diff=diff), tmp_path)

    (only,) = result.results
    assert (only.after, only.broken, result.exit_code) == (None, True, 3)
    assert reason in (only.reason or "")
    assert read_rows(result.file) == []


def test_a_trial_that_came_to_nothing_is_left_alone(tmp_path: Path) -> None:
    unscored = make_unscored(trial=KEY)
    given = {name: getattr(unscored, name) for name in ("success", "score", "completion_reason", "error_code", "error")}
    result = score(stored_run(tmp_path, ONE_CHECK, **given), tmp_path)

    (only,) = result.results
    assert (only.after, only.broken, result.exit_code) == (None, False, 0)
    assert only.reason == "it is unscored (upstream): there is nothing that could be scored"


def test_a_changed_scenario_counts_only_if_that_is_said(tmp_path: Path) -> None:
    run = stored_run(tmp_path, ONE_CHECK)
    write_scenario(tmp_path / "sample", check("file_contains", path="done.txt", text="other"))
    refused, scored = score(run, tmp_path), score(run, tmp_path, changed_scenarios=True)

    assert refused.results[0].reason is not None
    assert refused.results[0].reason.startswith("its scenario was changed since")
    assert after(scored).success is False
    assert after(scored).scenario_digest == load_scenario(tmp_path / "sample").digest


def test_verdicts_can_be_kept_while_plugins_look_again(tmp_path: Path) -> None:
    run = stored_run(tmp_path, ONE_CHECK, diff=None, score=0.25)
    row = after(score(run, tmp_path, keep_verdicts=True))

    assert (row.score, "rescored" in row.extensions) == (0.25, False)
    assert row.extensions["measured"]["tool_calls.total"]["value"] == 3


def test_what_is_missing_is_said_before_anything_is_scored(tmp_path: Path) -> None:
    run = stored_run(tmp_path, ONE_CHECK + check("rubric") + TOML)

    with pytest.raises(InputError, match=r"scenario sample has a \[rubric\], and there is no judge"):
        score(run, tmp_path)
    with pytest.raises(InputError, match="--keep-verdicts: no scorer and no judge is asked then"):
        score(run, tmp_path, scorer="checks", keep_verdicts=True)
    (tmp_path / "sample" / "scenario.toml").rename(tmp_path / "moved.toml")
    with pytest.raises(InputError, match="say with --scenario where they are now"):
        score(run, tmp_path, scorer="checks")
    assert after(score(run, tmp_path, scorer="checks", scenarios=(str(tmp_path / "moved.toml"),))).success is True


def test_how_a_row_takes_a_new_verdict() -> None:
    failed = make_row(success=False, score=0.0, error_code="crash", completion_reason="error", error="it died")
    hit = LimitHit(kind="timeout_s", allowed=1, used=1, phase="hard", counter="wall_clock")
    capped = make_row(success=False, score=0.0, completion_reason="timeout", limit=hit)

    for row in (failed, capped):
        new = with_verdict(row, VERDICT, {"number": 1}, "digest-2")
        kept = replace(
            new,
            success=row.success,
            score=row.score,
            checks_passed=row.checks_passed,
            checks_total=row.checks_total,
            check_details=row.check_details,
            scenario_digest=row.scenario_digest,
            extensions=row.extensions,
        )
        assert kept == row
        assert (new.success, new.score, new.scenario_digest) == (True, 1.0, "digest-2")
        assert new.extensions["judge"] == {"judge": "new"}


@pytest.mark.parametrize("kind", BOTH)
async def test_any_text_that_a_diff_can_hold_is_rebuilt(tmp_path: Path, kind: str) -> None:
    files = {"workspace/keep.txt": "a\nb\nc\n", "workspace/gone.txt": "x\n", "workspace/run.sh": "echo\n"}
    async with entered(kind) as sandbox:
        rig = await make_rig(tmp_path, sandbox, ONE_CHECK, files)
        fresh = (await make_rig(tmp_path / "again", sandbox, ONE_CHECK, files)).workspace
        change(rig.workspace)
        toolchain = await rig.toolchains.of(rig.scenario.tools)
        rebuilt = await rebuild_from_diff(fresh, rig.workspace.diff(), sandbox=sandbox, toolchain=toolchain)

    assert rebuilt.diff() == rig.workspace.diff() != ""
    assert (rebuilt.path / "run.sh").stat().st_mode & 0o100
    assert (rebuilt.path / "link").readlink() == Path("keep.txt")
    assert (rebuilt.path / "empty").read_bytes() == b""
    assert not (rebuilt.path / "gone.txt").exists()


def change(workspace: Workspace) -> None:
    """Do to a workspace all that a diff can tell."""
    path = workspace.path
    (path / "keep.txt").write_text("a\r\nB\nc \n\n\nno newline at the end \\ ü")
    (path / "gone.txt").unlink()
    (path / "run.sh").chmod(0o755)
    (path / "empty").write_bytes(b"")
    (path / "link").symlink_to("keep.txt")
    (path / "deep" / "down").mkdir(parents=True)
    (path / "deep" / "down" / 'a "b" c.txt').write_text("# 1 more changed files are not shown\n--- a\n+++ b\n@@\n")


async def test_a_diff_cannot_write_outside_of_the_workspace(tmp_path: Path) -> None:
    outside = DONE.replace("done.txt", "../outside.txt")
    async with entered("process") as sandbox:
        rig = await make_rig(tmp_path, sandbox, ONE_CHECK)
        toolchain = await rig.toolchains.of(rig.scenario.tools)
        with pytest.raises(CannotRebuild, match="does not apply"):
            await rebuild_from_diff(rig.workspace, outside, sandbox=sandbox, toolchain=toolchain)

    assert not (rig.workspace.path.parent / "outside.txt").exists()


def test_the_state_of_a_repository_is_in_no_diff() -> None:
    commit = "diff --git a/.git/refs/heads/main b/.git/refs/heads/main\n"

    assert why_unsound(commit) == "the agent changed the state of a git repository, which no diff can tell"
    assert why_unsound(commit.replace("a/.git", "a/sub/.git").replace("b/.git", "b/sub/.git"))
    assert why_unsound(DONE.replace("+done", "+diff --git a/.git/HEAD b/.git/HEAD")) is None


def test_what_an_agent_said_is_found_in_its_log(tmp_path: Path) -> None:
    logs = TryLogs(tmp_path)
    logs.opened()
    logs.said(5, "Hello.")
    logs.prompted(10, "One.")
    logs.said(11, "Fir")
    logs.said(12, "st.")
    logs.answered(13)
    logs.said(14, "late")
    logs.prompted(20, "You have used your turn budget.", id=3)
    logs.said(21, " Wrapped up.")
    logs.answered(22, id=3)
    logs.prompted(30, "Two.", id=4)
    logs.said(31, "Second.")
    logs.answered(32, id=4)

    assert said_by(build_trace(tmp_path).events, ("One.", "Two.")) == "First. Wrapped up.\nSecond."


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return open_shell(tmp_path)


def test_a_run_is_judged_shown_and_judged_again(shell: Shell) -> None:
    rubric = TINY.replace("[[solution", '[[checks]]\nkind = "rubric"\n[[solution', 1) + TOML
    shell.write("ruled/scenario.toml", rubric.replace('"tiny"', '"ruled"'))
    shell.write("judge.json", json.dumps(["?", said("pass", 5), said("pass", 4)]))
    shell.write("strict.json", json.dumps([said("fail", 1)]))
    run = shell.run(
        *("run", "mini", "./ruled", "--json", "--judge-upstream", "script:judge.json"),
        *("--judge-repeats", "2", "--judge-record", "judge.cassette"),
    )
    assert run.returncode == 0, run.stderr
    row = json.loads(run.stdout)["rows"][0]

    assert (row["success"], row["score"]) == (True, round((1 + 1 / 4 + 3 / 4 * 0.875) / 2, 6))
    judge = row["extensions"]["judge"]
    assert (judge["calls"], judge["refused"], judge["agreement"]["observed"]) == (3, 1, 0.5)
    assert row["exchanges"]["main"] == 2
    shown = shell.run("show", "last", "1").stdout
    assert "mean 4.50 of 5 (5, 4): neat is 5" in shown
    assert "agrees with itself 0.50" in shown
    assert (shell.folder / "judge.cassette").exists()
    again = shell.run("score", "last", "--judge-upstream", "script:strict.json", "--replace")
    assert again.returncode == 0, again.stderr
    assert "pass 0.95 -> fail 0.50" in again.stdout
    (new,) = Store(shell.folder / "runs").find("last").rows
    assert [detail.rationale for detail in new.check_details] == [None, "right is fail", "neat is 1"]


def test_a_judge_that_fails_makes_a_trial_unscored_after_a_second_try(shell: Shell) -> None:
    rubric = TINY.replace("[[solution", '[[checks]]\nkind = "rubric"\n[[solution', 1) + TOML
    shell.write("ruled/scenario.toml", rubric.replace('"tiny"', '"ruled"'))
    shell.write("judge.json", json.dumps([{"status": 400, "text": "no such model"}]))
    run = shell.run("run", "mini", "./ruled", "--json", "--judge-upstream", "script:judge.json")
    row = json.loads(run.stdout)["rows"][0]

    assert (run.returncode, row["success"], row["score"], row["error_code"], row["tries"]) == (
        3,
        None,
        None,
        "scorer",
        2,
    )
    assert "status 400: no such model" in row["error"]
    assert row["extensions"]["before_scoring"]["completion_reason"] == "stop"
    assert row["extensions"]["judge"]["failed"] == 1


def test_a_judge_on_tape_gives_the_same_verdict_again(tmp_path: Path) -> None:
    run = stored_run(tmp_path, ONE_CHECK + check("rubric") + TOML)
    (tmp_path / "judge.json").write_text(json.dumps(["?", said("pass", 2), said("fail", 4)]))
    tape = tmp_path / "judge.cassette"
    asked = JudgeChoice(upstream=f"script:{tmp_path / 'judge.json'}", repeats=2, record=tape)
    first = after(rescore_sync(request_for(run, asked), environ(tmp_path)))
    again = after(
        rescore_sync(request_for(run, JudgeChoice(upstream=f"cassette:{tape}", repeats=2)), environ(tmp_path))
    )
    other = rescore_sync(request_for(run, JudgeChoice(upstream=f"cassette:{tape}", repeats=3)), environ(tmp_path))

    assert again.check_details == first.check_details
    for key in ("calls", "refused", "values", "agreement"):
        assert again.extensions["judge"][key] == first.extensions["judge"][key]
    assert again.extensions["judge"]["judge"] == f"script (cassette:judge.cassette of script:{tmp_path / 'judge.json'})"
    assert other.results[0].broken
    with pytest.raises(InputError, match=r"judge\.cassette"):
        rescore_sync(request_for(run, asked), environ(tmp_path))
