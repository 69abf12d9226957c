"""What `--help` looks like on a terminal of 80 columns."""

from itertools import pairwise

import pytest
from typer.testing import CliRunner

from benchflow.cli import agents, app, scenarios

COMMANDS = [(info.name,) for info in app.registered_commands]
COMMANDS += [("agents", info.name) for info in agents.app.registered_commands]
COMMANDS += [("scenarios", info.name) for info in scenarios.app.registered_commands]


@pytest.fixture(params=COMMANDS, ids=" ".join)
def page(request: pytest.FixtureRequest) -> list[str]:
    result = CliRunner().invoke(app, [*request.param, "--help"], env={"COLUMNS": "80"}, catch_exceptions=False)
    return result.stdout.splitlines()


def test_no_name_of_an_option_is_cut(page: list[str]) -> None:
    assert not [line for line in page if "…" in line]


def test_paragraphs_fill_the_width_that_there_is(page: list[str]) -> None:
    prose = page[: next(number for number, line in enumerate(page) if line.startswith("╭"))]
    for line, following in pairwise(prose[2:]):
        if line.strip() and following.strip():
            assert len(line.rstrip()) + 1 + len(following.split()[0]) > 79, line
