"""A tier follows from declared facts and measured steps, by rules that a reader can check one by one."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchflow.errors import InputError
from benchflow.evidence import Captured, Evidence, Machine, Step, measure, read_evidence, write_evidence
from benchflow.tiers import HEIGHT, UNMEASURED, Declared, Shown, Verdict, tier_of

ROUTED = Declared(routed=True, backend=False, maintained=False)
GOOD: dict[str, Verdict] = dict.fromkeys(("install", "initialize", "session", "model", "scenario"), "pass")
WIRED = Shown(verdicts=GOOD, details={}, captured=5, login=None)


def without(step: str, verdict: Verdict = "fail") -> dict[str, Verdict]:
    """Return the verdicts of a probe that came as far as `step`, and failed there."""
    names = list(GOOD)
    passed = names[: names.index(step)]
    return {**dict.fromkeys(passed, "pass"), step: verdict}


@pytest.mark.parametrize(
    ("declared", "shown", "tier"),
    [
        (ROUTED, WIRED, "wired"),
        (replace(ROUTED, maintained=True), WIRED, "native"),
        (ROUTED, replace(WIRED, verdicts={**GOOD, "model": "odd"}), "wired"),
        (ROUTED, replace(WIRED, verdicts={**GOOD, "model": "fail"}), "catalog"),
        (ROUTED, replace(WIRED, verdicts={**GOOD, "scenario": "fail"}), "catalog"),
        (ROUTED, replace(WIRED, captured=0), "catalog"),
        (replace(ROUTED, maintained=True), replace(WIRED, captured=0), "catalog"),
        (replace(ROUTED, backend=True), replace(WIRED, captured=0), "runnable"),
        (Declared(routed=False, backend=True, maintained=True), replace(WIRED, captured=0), "runnable"),
        (replace(ROUTED, backend=True), replace(WIRED, captured=0, verdicts={**GOOD, "scenario": "fail"}), "catalog"),
        (Declared(routed=False, backend=False, maintained=False), replace(WIRED, captured=0), "catalog"),
        (ROUTED, replace(WIRED, verdicts=without("install"), captured=0), "unmeasured"),
        (ROUTED, replace(WIRED, verdicts=without("initialize"), captured=0), "unmeasured"),
        (ROUTED, replace(WIRED, verdicts=without("session"), captured=0), "unmeasured"),
        (ROUTED, replace(WIRED, verdicts=without("session"), captured=0, login="vendor account"), "vendor-locked"),
    ],
)
def test_each_row_of_the_rules(declared: Declared, shown: Shown, tier: str) -> None:
    assert tier_of(declared, shown)[0] == tier


verdicts = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from(["pass", "fail", "odd", "skipped"]) for name in GOOD}
)
shows = st.builds(
    Shown, verdicts=verdicts, details=st.just({}), captured=st.integers(0, 3), login=st.none() | st.just("vendor")
)
declares = st.builds(Declared, routed=st.booleans(), backend=st.booleans(), maintained=st.booleans())


@given(declares, shows)
def test_no_agent_is_wired_without_captured_exchanges_and_a_solved_scenario(declared: Declared, shown: Shown) -> None:
    tier, reason = tier_of(declared, shown)

    assert reason
    if tier in ("wired", "native"):
        assert shown.captured
        assert {shown.verdicts[step] for step in GOOD} <= {"pass", "odd"}


@given(declares, shows, st.sampled_from(sorted(GOOD)))
def test_a_step_that_fails_never_raises_the_tier(declared: Declared, shown: Shown, step: str) -> None:
    worse = replace(shown, verdicts={**shown.verdicts, step: "fail"})
    before, after = tier_of(declared, shown)[0], tier_of(declared, worse)[0]

    assert HEIGHT[after] <= HEIGHT[before] or after == "vendor-locked"


def evidence(**fields: Any) -> Evidence:
    steps = tuple(Step(name=name, verdict=verdict, took_ms=1.5, detail="seen") for name, verdict in GOOD.items())  # type: ignore[arg-type]
    given = {
        "agent": "x",
        "manifest_digest": "d1",
        "declared_version": "1.0",
        "agent_version": "1.0.0",
        "benchflow_version": "0.1",
        "measured": "2026-11-20T10:00:00Z",
        "machine": Machine(system="Linux x86_64", python="3.11", sandbox="bubblewrap"),
        "network": "gateway",
        "steps": steps,
        "captured": Captured(dialect="openai-completions", main=5),
    }
    return Evidence(**(given | fields))


def test_evidence_is_the_same_after_it_was_written(tmp_path: Path) -> None:
    write_evidence(tmp_path / "evidence.json", evidence(quirks=("ends well although its upstream failed",)))

    assert read_evidence(tmp_path / "evidence.json") == evidence(quirks=("ends well although its upstream failed",))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evidence.json"]


def test_fresh_evidence_gives_the_tier_with_its_day_and_version(tmp_path: Path) -> None:
    write_evidence(tmp_path / "evidence.json", evidence())

    found, problems = measure(ROUTED, "d1", "1.0", [tmp_path / "none.json", tmp_path / "evidence.json"])

    assert (found.tier, found.measured, found.agent_version, found.stale) == ("wired", "2026-11-20", "1.0.0", None)
    assert problems == ()


@pytest.mark.parametrize(("digest", "version", "why"), [("d2", "1.0", "changed"), ("d1", "1.1", "now installs 1.1")])
def test_stale_evidence_counts_for_nothing_and_says_why(tmp_path: Path, digest: str, version: str, why: str) -> None:
    write_evidence(tmp_path / "evidence.json", evidence())

    found, _ = measure(ROUTED, digest, version, [tmp_path / "evidence.json"])

    assert (found.tier, found.measured) == ("unmeasured", "2026-11-20")
    assert found.stale is not None
    assert why in found.stale


def test_newest_of_the_fresh_counts(tmp_path: Path) -> None:
    stale = evidence(manifest_digest="d0", measured="2026-11-22T10:00:00Z")
    newer = evidence(captured=Captured(), measured="2026-11-21T10:00:00Z")
    for name, document in (("a", stale), ("b", evidence()), ("c", newer)):
        write_evidence(tmp_path / f"{name}.json", document)

    found, _ = measure(ROUTED, "d1", "1.0", [tmp_path / f"{name}.json" for name in "abc"])

    assert (found.tier, found.measured, found.stale) == ("catalog", "2026-11-21", None)


def test_without_evidence_nothing_is_measured(tmp_path: Path) -> None:
    assert measure(ROUTED, "d1", "1.0", [tmp_path / "evidence.json"]) == (UNMEASURED, ())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "cannot be read"),
        ("[]", "one JSON object"),
        ("{}", "`schema_version` is None"),
        (json.dumps({"schema_version": 9}), "`schema_version` is 9"),
        (json.dumps({**evidence().model_dump(mode="json"), "tier": "native"}), "`tier`"),
        (json.dumps({**evidence().model_dump(mode="json"), "steps": [{"name": "install"}]}), "verdict"),
    ],
)
def test_bad_evidence_is_named_and_measures_nothing(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "evidence.json"
    path.write_text(text)

    with pytest.raises(InputError, match=r"evidence\.json") as caught:
        read_evidence(path)

    assert says in str(caught.value)
    assert measure(ROUTED, "d1", "1.0", [path]) == (UNMEASURED, (str(caught.value),))
