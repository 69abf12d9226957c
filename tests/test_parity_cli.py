"""`benchflow parity` as a user meets it: the bundled agent in both sandboxes, and agents that know where they are."""

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import orjson
import pytest
from command_line import Shell, open_shell
from dialect_samples import SAMPLES, Ask
from sandboxes import needs_bubblewrap
from test_run import processes_below, until
from typer.testing import CliRunner

from benchflow.cli import app
from benchflow.errors import InputError
from benchflow.parity.request import ParityRequest, look_up
from benchflow.parity.run import run_sync
from benchflow.report.parity import describe

AGENT = Path(__file__).with_name("parity_agent.py")
MANIFEST = """\
contract_version = "1.1"
name = "planted"
version = "1.0.0"
api_protocol = "openai-completions"
install_cmd = "true"
launch_cmd = 'exec "$BENCHFLOW_PYTHON" "$BENCHFLOW_AGENT_DIR/agent.py"'
[env_mapping]
BENCHFLOW_PROVIDER_BASE_URL = "OPENAI_BASE_URL"
BENCHFLOW_PROVIDER_API_KEY = "OPENAI_API_KEY"
BENCHFLOW_PROVIDER_MODEL = "OPENAI_MODEL"
[env]
PLANT = "{plant}"
"""


def plant(folder: Path, what: str) -> Shell:
    """Make a shell with an agent in which this is planted."""
    shell = open_shell(folder)
    shell.write("planted/manifest.toml", MANIFEST.replace("{plant}", what))
    shell.write("planted/agent.py", AGENT.read_text())
    return shell


def compare(shell: Shell, *, exit_code: int, **more: Any) -> dict[str, Any]:
    """Compare on the tiny scenario, in this process: that spares the imports; return what is said of it."""
    folder = shell.folder
    request = ParityRequest(agent=str(folder / "planted"), scenarios=(str(folder / "tiny"),), sandbox="process", **more)
    parity = run_sync(request, shell.environ, lambda _: None).parity
    said = json.loads(orjson.dumps(describe(parity)))
    assert parity.exit_code == exit_code, said
    return said["scenarios"][0]


@needs_bubblewrap
def test_bundled_agent_is_the_same_inside(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)

    ended = shell.run("parity", "mini", "./tiny", "--sandbox", "bubblewrap", "--html", "page.html")

    assert ended.returncode == 0, ended.stderr + ended.stdout
    assert "verdict: parity" in ended.stdout
    assert "forwarded unchanged: 2 of 2" in ended.stdout
    assert "main 1: neutral (paths 1)" in ended.stdout
    assert "inside (bubblewrap)" in ended.stdout
    assert re.search(
        r"took \d+\.\d s, \d+\.\d s beyond the agent itself: \d+\.\d s in 2 runs alone and \d+\.\d s in 1", ended.stdout
    )
    page = (tmp_path / "page.html").read_text()
    assert "Content-Security-Policy" in page
    assert list((tmp_path / "home" / "scratch").iterdir()) == []


def test_sampling_parameter_that_differs_inside_is_shown_with_both_values(tmp_path: Path) -> None:
    shell = plant(tmp_path, "sampling")

    words = ["parity", str(tmp_path / "planted"), str(tmp_path / "tiny"), "--sandbox", "process", "--json", "--html"]
    ended = CliRunner().invoke(app, [*words, str(tmp_path / "page.html")], env=shell.environ)

    assert ended.exit_code == 1, ended.output
    found = json.loads(ended.stdout)["scenarios"][0]
    assert (found["wire"]["verdict"], found["outcome"]["verdict"]) == ("divergence", "parity")
    assert found["wire"]["requests"][0]["differences"] == [{"path": "body.temperature", "alone": 0.2, "inside": 0.5}]
    assert "<del>2</del>" in (tmp_path / "page.html").read_text()


def test_requests_of_every_dialect_are_captured_on_both_sides(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    ask = Ask(text="Write the file done.txt with the word done in it.")
    asked = [[f"{sample.path(ask)}?{sample.query(ask)}".rstrip("?"), sample.body(ask).decode()] for sample in SAMPLES]
    shell.write("planted/requests.json", json.dumps({ask.text: {"requests": asked, "end": "end_turn"}}))
    shell.write("planted/agent.py", AGENT.with_name("dialect_agent.py").read_text())
    launch = '"$BENCHFLOW_AGENT_DIR/agent.py" "$BENCHFLOW_AGENT_DIR/requests.json"'
    manifest = MANIFEST.replace('"$BENCHFLOW_AGENT_DIR/agent.py"', launch)
    shell.write("planted/manifest.toml", manifest[: manifest.index("[env_mapping]")])

    found = compare(shell, exit_code=0)

    assert [request["verdict"] for request in found["wire"]["requests"]] == ["identical"] * len(SAMPLES)
    assert [request["call"] for request in found["wire"]["requests"]] == [f"POST {path}" for path, _ in asked]


def test_file_that_is_only_written_inside_is_an_outcome(tmp_path: Path) -> None:
    found = compare(plant(tmp_path, "file"), exit_code=1)

    assert (found["wire"]["verdict"], found["outcome"]["verdict"]) == ("parity", "divergence")
    files = next(each for each in found["outcome"]["aspects"] if each["aspect"] == "files")
    assert files["differences"] == [{"path": "files.more.txt", "inside": "more\n"}]


def test_what_an_agent_draws_by_lot_is_listed_as_its_own_noise(tmp_path: Path) -> None:
    found = compare(plant(tmp_path, "noise"), exit_code=0)

    request = found["wire"]["requests"][0]
    assert (request["verdict"], request["differences"]) == ("noise", [])
    assert [each["path"] for each in request["noise"]] == ["body.seed"]


def test_agent_that_does_not_start_is_undecided_and_says_why(tmp_path: Path) -> None:
    found = compare(plant(tmp_path, "dies"), exit_code=3)

    assert found["verdict"] == "undecided"
    assert "no such luck" in found["wire"]["reason"]


def test_scores_of_several_runs_are_tested_for_equivalence(tmp_path: Path) -> None:
    found = compare(plant(tmp_path, "none"), repeat=2, exit_code=0)

    score = next(each for each in found["outcome"]["aspects"] if each["aspect"] == "score")
    assert (found["runs_alone"], found["runs_inside"]) == (2, 2)
    assert score["said"].startswith("equivalent: mean difference +0.000")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"without": ("path",)}, "--without path: no such rule; did you mean `paths`"),
        ({"margin": 2.0}, "--margin 2"),
        ({"agent": "nobody"}, "nobody"),
        ({"scenarios": ("no-such-scenario",)}, "no-such-scenario"),
    ],
)
def test_what_the_user_can_correct_is_an_input_error(tmp_path: Path, asked: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        look_up(ParityRequest(**{"agent": "mini", **asked}), open_shell(tmp_path).environ)


def test_page_that_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path) -> None:
    page = tmp_path / "nowhere" / "page.html"

    ended = CliRunner().invoke(app, ["parity", "mini", "--html", str(page)], env=open_shell(tmp_path).environ)

    assert isinstance(ended.exception, InputError)
    assert str(ended.exception).startswith(f"--html {page}:")
    assert not (tmp_path / "home").exists()


def test_nothing_of_the_agent_alone_stays_alive(tmp_path: Path) -> None:
    shell = plant(tmp_path, "none")
    code = AGENT.read_text().replace("import json\n", "import json\nimport subprocess\n", 1)
    stray = 'subprocess.Popen(["sleep", "600"], start_new_session=True)'
    shell.write("planted/agent.py", code.replace("\nmain()\n", f"\n{stray}\nmain()\n"))

    compare(shell, exit_code=0)

    assert processes_below(tmp_path) == []


def test_interrupted_comparison_leaves_nothing_behind(tmp_path: Path) -> None:
    shell = plant(tmp_path, "hangs")
    process = shell.start("parity", "./planted", "./tiny", "--sandbox", "process")
    until(lambda: len(list(tmp_path.glob("home/scratch/**/workspace/asked"))) == 2, "both agents")

    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)

    assert (process.returncode, stdout) == (130, ""), stderr
    assert "nothing was compared" in stderr
    assert processes_below(tmp_path) == []
    assert list((tmp_path / "home" / "scratch").iterdir()) == []
