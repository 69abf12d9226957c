"""The bundled scenarios: each measures something, and together they are what they should be."""

import os
from pathlib import Path

import pytest
from sandboxes import entered

from benchflow.authoring.prove import Proof, prove
from benchflow.machine.home import Home
from benchflow.scenario import BUNDLED, Scenario, find_scenarios
from benchflow.workspaces.toolchain import Toolchains

SCENARIOS = {scenario.id: scenario for scenario in find_scenarios(["all"])}


@pytest.fixture(scope="module")
def toolchains(tmp_path_factory: pytest.TempPathFactory) -> Toolchains:
    return Toolchains(Home(tmp_path_factory.mktemp("home")))


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
async def test_the_solution_passes_and_nothing_does_not(
    scenario: Scenario, toolchains: Toolchains, tmp_path: Path
) -> None:
    async with entered("process") as sandbox:
        proof = await prove(scenario, sandbox=sandbox, toolchains=toolchains, scratch=tmp_path, repetitions=1)

    assert scenario.solution is not None
    assert proof == Proof(
        scenario=scenario.id,
        passed=True,
        steps=len(scenario.solution.steps),
        repetitions=1,
        solved=1.0,
        nothing=proof.nothing,
        reasons=(),
    )
    assert os.listdir(tmp_path) == []


def steps(identifier: str) -> int:
    solution = SCENARIOS[identifier].solution
    assert solution is not None
    return len(solution.steps)


def test_there_are_short_and_long_ones() -> None:
    assert len(SCENARIOS) >= 12
    assert sum(steps(identifier) > 15 for identifier in SCENARIOS) >= 3
    assert steps("move-staging-database") == 2
    assert 2 <= steps("fix-failing-test") <= 4
    assert not SCENARIOS["fix-failing-test"].tools.python


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_each_is_complete(scenario: Scenario) -> None:
    assert scenario.folder == BUNDLED / scenario.id
    assert scenario.description
    assert scenario.tags
    assert all(check.description or check.kind != "command" for check in scenario.checks)
    shown = [path for path in scenario.folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert all(path.read_bytes().decode("utf-8") is not None for path in shown)
    assert any(check.weight == 0 for check in scenario.checks), "no guard"
