"""Checks that say themselves what was earned, as verifiers of other systems do."""

from pathlib import Path

import pytest
from sandboxes import BOTH, entered
from scenario_rig import check, make_rig

COPY = 'cat reward > "$BENCHFLOW_REWARD"; exit 3'


def rewarded(run: str, **keys: object) -> str:
    return check("reward", id="verifier", run=run, **keys)


@pytest.mark.parametrize("kind", BOTH)
async def test_a_reward_is_the_score_whatever_the_exit_code_and_only_1_passes(tmp_path: Path, kind: str) -> None:
    verdicts = []
    async with entered(kind) as sandbox:
        rig = await make_rig(tmp_path, sandbox, rewarded(COPY))
        for written in ("0.25", "1", '{"reward": 1.0, "style": 0}', "0\n"):
            (rig.workspace.path / "reward").write_text(written)
            result = await rig.score()
            verdicts.append((result.error, result.success, result.score))

    assert verdicts == [(None, False, 0.25), (None, True, 1.0), (None, True, 1.0), (None, False, 0.0)]


async def test_a_reward_that_is_none_leaves_the_trial_unscored(tmp_path: Path) -> None:
    errors = []
    async with entered("process") as sandbox:
        rig = await make_rig(tmp_path, sandbox, rewarded(COPY))
        for written in ("1.5", "-1", "NaN", "true", "good", '{"a": 1, "b": 1}', ""):
            (rig.workspace.path / "reward").write_text(written)
            result = await rig.score()
            assert (result.success, result.score) == (None, None)
            errors.append(result.error)

    assert errors[0] == "verifier: the verifier's reward is no number in [0, 1]: '1.5'"
    assert all("is no number in [0, 1]" in str(error) for error in errors)


async def test_a_verifier_that_writes_nothing_or_hangs_leaves_the_trial_unscored(tmp_path: Path) -> None:
    async with entered("process") as sandbox:
        silent = await (await make_rig(tmp_path / "a", sandbox, rewarded("exit 7"))).score()
        hanging = await (await make_rig(tmp_path / "b", sandbox, rewarded("sleep 60", timeout_s=0.2))).score()

    assert silent.error == "verifier: the verifier wrote no reward (exit code 7)"
    assert hanging.error == "verifier: the verifier was not done in time"


async def test_a_reward_earns_its_share_of_the_weight(tmp_path: Path) -> None:
    text = rewarded('echo 0.5 > "$BENCHFLOW_REWARD"', weight=3) + check("file_exists", path="there")
    async with entered("process") as sandbox:
        rig = await make_rig(tmp_path, sandbox, text)
        (rig.workspace.path / "there").touch()
        result = await rig.score()

    assert (result.success, result.score) == (False, round((3 * 0.5 + 1) / 4, 6))
