from pathlib import Path

import pytest
from stored import entry, make_row, make_unscored, try_folder, write_json, write_run

from benchflow.errors import InputError
from benchflow.store import Store, StoredRun, read_result, table_order


def test_a_run_is_found_by_id_beginning_path_and_last(tmp_path: Path) -> None:
    older = write_run(tmp_path, make_row(), run_id="20260101-000000-mini-aaaa")
    newer = write_run(tmp_path, make_row(), run_id="20260102-000000-mini-bbbb")
    store = Store(tmp_path)

    assert store.find("20260101-000000-mini-aaaa").folder == older
    assert store.find("20260102").folder == newer
    assert store.find(str(older)).folder == older
    assert store.find("last").folder == newer
    assert [run.id for run in store.runs()] == [older.name, newer.name]


def test_last_is_the_later_of_two_runs_of_one_second(tmp_path: Path) -> None:
    write_run(tmp_path, make_row(), run_id="20260101-000000-z-ffff")
    newer = write_run(tmp_path, make_row(), run_id="20260101-000000-a-0000")

    assert Store(tmp_path).find("last").folder == newer


def test_an_unknown_run_is_an_error_with_the_nearest(tmp_path: Path) -> None:
    write_run(tmp_path, make_row(), run_id="20260101-000000-mini-aaaa")

    with pytest.raises(
        InputError, match=r"no such run. The nearest: 20260101-000000-mini-aaaa. `benchflow runs` lists"
    ):
        Store(tmp_path).find("2026010-000000-mini-aaa")


def test_a_beginning_of_two_runs_is_an_error_that_names_both(tmp_path: Path) -> None:
    write_run(tmp_path, make_row(), run_id="20260101-000000-mini-aaaa")
    write_run(tmp_path, make_row(), run_id="20260101-000001-mini-bbbb")

    with pytest.raises(InputError, match=r"2 runs begin so .*aaaa, .*bbbb.*write more"):
        Store(tmp_path).find("20260101")


@pytest.mark.parametrize("text", ["last", "20260101"])
def test_no_runs_at_all_is_an_error_that_names_the_folder(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=f"there are no runs in {tmp_path / 'runs'}"):
        Store(tmp_path / "runs").find(text)


def test_a_folder_that_is_no_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no run is there"):
        Store(tmp_path).find(str(tmp_path))


def test_a_trial_is_found_by_key_number_and_part(tmp_path: Path) -> None:
    second = make_row(scenario_id="zeta", trial="zeta-mini-baseline-0-22223333")
    run = StoredRun(write_run(tmp_path, second, make_row(), unfinished=("open-mini-baseline-0-99990000",)))

    assert run.find_trial("fix-mini-baseline-0-1a2b3c4d").key == make_row().trial
    assert run.find_trial("2").row == second
    assert run.find_trial("zeta").row == second
    assert run.find_trial("22223333").row == second
    assert run.find_trial("3").key == "open-mini-baseline-0-99990000"
    assert run.find_trial("3").row is None


def test_an_unknown_or_ambiguous_trial_is_an_error(tmp_path: Path) -> None:
    run = StoredRun(write_run(tmp_path, make_row(), make_row(trial="fix-mini-baseline-1-55556666", iteration=1)))

    with pytest.raises(InputError, match=r"no such trial.*benchflow show"):
        run.find_trial("nothing-like-it")
    with pytest.raises(InputError, match="2 trials begin so"):
        run.find_trial("fix")


def test_the_last_row_of_a_trial_counts(tmp_path: Path) -> None:
    run = write_run(tmp_path, make_unscored())
    with (run / "rows.jsonl").open("ab") as rows:
        rows.write(make_row().to_json() + b"\n")

    assert [row.success for row in StoredRun(run).rows] == [True]


def test_a_killed_run_is_read_as_far_as_it_came(tmp_path: Path) -> None:
    run = write_run(tmp_path, make_row(), unfinished=("open",))
    for name in ("rows.jsonl", "journal.jsonl"):
        with (run / name).open("ab") as file:
            file.write(b'{"trial": "cut in the mid')
    (run / "run.json").unlink()

    stored = StoredRun(run)

    assert (len(stored.rows), stored.open_trials, stored.description) == (1, ["open"], {})


def test_an_interrupted_trial_has_the_row_of_its_last_try(tmp_path: Path) -> None:
    run = write_run(tmp_path, unfinished=("open",))
    cancelled = make_unscored(trial="open", error_code="cancelled")
    write_json(try_folder(run, "open", 2) / "result.json", cancelled)

    trial = StoredRun(run).trial("open")

    assert (trial.row, trial.tries, read_result(trial.try_folder())) == (None, (1, 2), cancelled)


def test_tries_are_ordered_by_number(tmp_path: Path) -> None:
    run = write_run(tmp_path, unfinished=("open",))
    for attempt in (2, 10, 3):
        try_folder(run, "open", attempt)

    trial = StoredRun(run).trial("open")

    assert (trial.try_folder().name, trial.try_folder(3).name) == ("try-10", "try-3")
    with pytest.raises(InputError, match="has no try 4; it has 1, 2, 3, 10"):
        trial.try_folder(4)


def test_a_trial_without_a_folder_says_so(tmp_path: Path) -> None:
    run = write_run(tmp_path)
    (run / "journal.jsonl").write_bytes(entry("gone", "started"))

    with pytest.raises(InputError, match="nothing was recorded"):
        StoredRun(run).trial("gone").try_folder()


def test_rows_are_in_one_order_however_they_ended() -> None:
    rows = [make_row(scenario_id=name, iteration=n, trial=f"{name}{n}") for name in "ba" for n in (1, 0)]

    assert [row.trial for row in table_order(rows)] == ["a0", "a1", "b0", "b1"]


def test_a_trial_that_is_tried_again_is_told_of_by_its_row_until_that_has_ended(tmp_path: Path) -> None:
    unscored = make_unscored(tries=2)
    run = write_run(tmp_path, unscored)
    for attempt in (2, 3):
        try_folder(run, unscored.trial, attempt)

    trial = StoredRun(run).trial(unscored.trial)

    assert (trial.told, trial.try_folder().name, trial.tries) == (2, "try-2", (1, 2, 3))


def test_description_that_was_edited_wrongly_is_named(tmp_path: Path) -> None:
    folder = write_run(tmp_path, make_row())
    (folder / "run.json").write_text('{"trials": 5}')

    with pytest.raises(InputError, match=r"run\.json: trials: is no list; restore the file"):
        _ = StoredRun(folder).planned
