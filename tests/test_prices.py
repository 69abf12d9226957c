"""What an exchange cost: by the user's own file, by the list, or unknown; and where nothing was bought at all."""

import json
from importlib.metadata import version
from pathlib import Path

import pytest
from command_line import Shell, open_shell

from benchflow.contracts import CostBreakdown, TokenBreakdown
from benchflow.errors import InputError
from benchflow.gateway.own_prices import read_prices
from benchflow.gateway.prices import NOTHING_BOUGHT, UNKNOWN, Pricing, find_own_prices

TOKENS = TokenBreakdown.of(input=1_000_000, output=100_000, reasoning=50_000, cache_read=200_000, cache_write=10_000)
DAY = "2026-11-01T12:00:00.000000Z"
OWN = """\
as_of = 2026-10-30
[[prices]]
model = "gpt-4.1"
input_usd_per_mtok = 1
output_usd_per_mtok = 10.0
cache_read_usd_per_mtok = 0.5
cache_write_usd_per_mtok = 2
[[prices]]
model = "my-own"
input_usd_per_mtok = 3
output_usd_per_mtok = 0
"""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return open_shell(tmp_path)


def price_file(folder: Path, text: str = OWN) -> Path:
    path = folder / "prices.toml"
    path.write_text(text)
    return path


def test_list_knows_a_provider_s_model_and_says_its_version_and_the_day() -> None:
    cost = Pricing(provider="openai").price(("gpt-4.1",), TokenBreakdown.of(input=1_000_000, output=1_000_000), DAY)

    source = f"genai-prices {version('genai-prices')}, its prices for 2026-11-01"
    assert cost == CostBreakdown(total_usd=10.0, input_usd=2.0, output_usd=8.0, source=source)


@pytest.mark.parametrize(("provider", "model"), [("openai", "nobody-knows-me"), (None, "gpt-4.1")])
def test_what_the_list_does_not_have_is_unknown(provider: str | None, model: str) -> None:
    assert Pricing(provider=provider).price((model,), TOKENS, DAY) == UNKNOWN


def test_answer_without_usage_has_no_known_cost(tmp_path: Path) -> None:
    own = read_prices(price_file(tmp_path))

    assert Pricing(provider="openai", own=own).price(("gpt-4.1",), None, DAY) == UNKNOWN


def test_own_file_wins_over_the_list_and_is_named_with_date_and_digest(tmp_path: Path) -> None:
    own = read_prices(price_file(tmp_path))

    cost = Pricing(provider="openai", own=own).price(("gpt-4.1-2025-04-14", "gpt-4.1"), TOKENS, DAY)

    assert cost.total_usd == pytest.approx(1.0 + 1.0 + 0.1 + 0.02)
    assert (cost.input_usd, cost.output_usd) == (pytest.approx(1.0 + 0.1 + 0.02), pytest.approx(1.0))
    assert cost.source
    assert cost.source.startswith("prices.toml of 2026-10-30, sha256 ")


def test_cache_without_a_price_of_its_own_costs_as_input(tmp_path: Path) -> None:
    own = read_prices(price_file(tmp_path))

    assert Pricing(own=own).price(("my-own",), TOKENS, DAY).total_usd == pytest.approx(3 * 1.21)


def test_model_that_the_own_file_lacks_is_priced_by_the_list(tmp_path: Path) -> None:
    own = read_prices(price_file(tmp_path))

    cost = Pricing(provider="openai", own=own).price(("gpt-4.1-mini",), TOKENS, DAY)

    assert (cost.source or "").startswith("genai-prices ")


def test_nothing_is_bought_where_no_model_answers_whatever_a_file_says(tmp_path: Path) -> None:
    own = read_prices(price_file(tmp_path))

    assert Pricing(own=own, bought=False).price(("gpt-4.1",), TOKENS, DAY) == NOTHING_BOUGHT


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "prices: is missing; add it"),
        ("prices = []", "prices: needs at least one"),
        ("[[prices", "is not valid TOML"),
        (OWN.replace("input_usd_per_mtok = 3", "input_usd = 3"), "unknown key `input_usd`; did you mean"),
        (OWN.replace("input_usd_per_mtok = 3\n", ""), "prices[2].input_usd_per_mtok: is missing; add it"),
        (OWN.replace("= 3", "= -3"), "prices[2].input_usd_per_mtok: must be a price, 0 or more, not -3"),
        (OWN.replace("= 3", '= "3"'), "prices[2].input_usd_per_mtok: must be a number, not text"),
        (OWN.replace("= 3", "= inf"), "prices[2].input_usd_per_mtok: "),
        (OWN.replace("my-own", "gpt-4.1"), "'gpt-4.1' is there twice"),
    ],
)
def test_wrong_price_file_is_refused_by_name(tmp_path: Path, text: str, complaint: str) -> None:
    path = price_file(tmp_path, text)

    with pytest.raises(InputError) as refused:
        read_prices(path)

    assert str(refused.value).startswith(str(path))
    assert complaint in str(refused.value)


def test_file_is_found_by_option_before_environment(tmp_path: Path) -> None:
    option, other = price_file(tmp_path), tmp_path / "other.toml"
    other.write_text(OWN.replace("my-own", "elsewhere"))
    environ = {"BENCHFLOW_PRICES": str(other)}

    by_option, by_environment = find_own_prices(option, environ), find_own_prices(None, environ)

    assert by_option
    assert by_environment
    assert "my-own" in by_option.models
    assert "elsewhere" in by_environment.models
    assert find_own_prices(None, {}) is None


def test_missing_file_is_an_error_of_the_user_s_before_anything_starts(shell: Shell) -> None:
    by_option = shell.run("run", "mini", "./tiny", "--prices", "nowhere.toml")
    by_environment = shell.run("run", "mini", "./tiny", environ={"BENCHFLOW_PRICES": "nowhere.toml"})

    assert (by_option.returncode, by_environment.returncode) == (2, 2)
    assert "--prices nowhere.toml: cannot be read (No such file or directory)" in by_option.stderr
    assert "$BENCHFLOW_PRICES nowhere.toml: cannot be read" in by_environment.stderr


def test_run_with_the_oracle_bought_nothing_and_says_so_everywhere(shell: Shell) -> None:
    row = shell.row("mini", "--sandbox", "process", "--upstream", "oracle")
    shown = shell.run("show", "last")
    trial = shell.run("show", "last", "1")

    unknown = dict.fromkeys(("total_usd", "main_usd", "auxiliary_usd", "input_usd", "output_usd"))
    assert row["cost"] == {**unknown, "source": "nothing was bought"}
    assert "cost -" in shown.stdout
    assert "?" not in shown.stdout
    assert "cost -" in trial.stdout
    logs = list((shell.folder / "runs").rglob("llm.jsonl"))
    lines = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
    assert {line["cost"]["source"] for line in lines} == {"nothing was bought"}
