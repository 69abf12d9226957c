import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from command_line import Shell

from benchflow.authoring.harbor.convert import convert
from benchflow.authoring.harbor.scripts import prepare
from benchflow.authoring.harbor.task import find_tasks, read_task
from benchflow.errors import InputError
from benchflow.scenario import load_scenario

DOCKERFILE = """\
FROM ubuntu:24.04
ENV DEBIAN_FRONTEND=noninteractive
WORKDIR /app
COPY data.csv \\
     ./
COPY notes/ /app/notes
RUN mkdir -p out
"""
TESTS = """\
#!/bin/bash
cd /tests
if python3 /tests/check.py; then
  echo 1 > /logs/verifier/reward.txt
elif [ -e /app/out/sum.txt ]; then
  echo 0.25 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
"""
CHECK = 'from pathlib import Path\n\nassert Path("/app/out/sum.txt").read_text().strip() == "42"\n'
TASK: Mapping[str, str] = {
    "task.toml": '[metadata]\ndifficulty = "easy"\ntags = ["files"]\n[agent]\ntimeout_sec = 60\n',
    "instruction.md": "Sum up `/app/data.csv` into /app/out/sum.txt. Stay in /app.\n",
    "environment/Dockerfile": DOCKERFILE,
    "environment/data.csv": "40\n2\n",
    "environment/notes/a.txt": "a note\n",
    "tests/test.sh": TESTS,
    "tests/check.py": CHECK,
    "solution/solve.sh": "#!/bin/bash\ncd /solution\nbash /solution/lib/add.sh /app/data.csv > /app/out/sum.txt\n",
    "solution/lib/add.sh": "awk '{sum += $1} END {print sum}' \"$1\"\n",
}


def make_task(folder: Path, changes: Mapping[str, str | None] | None = None) -> Path:
    """Write the task with some files of other content, or, where that is None, without them."""
    for name, text in {**TASK, **(changes or {})}.items():
        if text is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    return folder


def reasons(tmp_path: Path, changes: Mapping[str, str | None]) -> tuple[str, ...]:
    """Why a task is not imported."""
    imported = convert(read_task(make_task(tmp_path / "task", changes)), tmp_path / "made")
    assert imported.scenario is None
    return imported.reasons


def test_a_task_becomes_a_scenario_that_passes_its_proof_and_keeps_a_partial_reward(tmp_path: Path) -> None:
    make_task(tmp_path / "tasks" / "Sum up")
    shell = Shell(tmp_path)

    ended = shell.run("scenarios", "import", "tasks", "--dir", "made", "--json")
    checked = shell.run("scenarios", "check", "made/sum-up", "-n", "1", "--json")
    half = (tmp_path / "made/sum-up/scenario.toml").read_text().partition("[[solution.steps]]")[0]
    shell.write("made/sum-up/scenario.toml", f'{half}[[solution.steps]]\nwrite = "out/sum.txt"\ncontent = "41"\n')
    ran = shell.run("run", "mini", "made/sum-up", "--json")

    assert json.loads(ended.stdout)[0]["scenario"] == "made/sum-up"
    assert ran.stdout, ran.stderr
    (row,) = json.loads(ran.stdout)["rows"]
    (proof,) = json.loads(checked.stdout)
    assert (proof["reasons"], proof["solved"], proof["nothing"]) == ([], 1.0, 0.0)
    assert (row["success"], row["score"]) == (False, 0.25)


def test_what_the_image_holds_is_the_workspace_and_the_prompt_names_it_from_there(tmp_path: Path) -> None:
    imported = convert(read_task(make_task(tmp_path / "task")), tmp_path / "made")

    assert imported.scenario is not None
    scenario = load_scenario(imported.scenario)
    workspace = imported.scenario / "workspace"
    assert sorted(str(path.relative_to(workspace)) for path in workspace.rglob("*")) == [
        "data.csv",
        "notes",
        "notes/a.txt",
        "out",
    ]
    assert scenario.prompts == ("Sum up `data.csv` into out/sum.txt. Stay in ./.\n",)
    assert (scenario.timeout_s, scenario.difficulty, scenario.tags) == (60, "easy", ("harbor", "files"))
    assert imported.notes[0] == "ubuntu:24.04 is replaced by this machine's own tools, and the agent is no root"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"environment/Dockerfile": "FROM ubuntu:24.04\nRUN apt-get install -y gcc\nWORKDIR /app\n"},
            "Dockerfile:2: RUN apt-get install -y gcc",
        ),
        (
            {"environment/Dockerfile": "FROM ghcr.io/a/b:1\nWORKDIR /app\n"},
            "FROM ghcr.io/a/b:1, which holds more than a system",
        ),
        (
            {"environment/Dockerfile": "FROM ubuntu\nWORKDIR /app\nCOPY data.csv /data/\n"},
            "/data/ is outside of its WORKDIR /app",
        ),
        ({"environment/Dockerfile": "FROM ubuntu\nCOPY data.csv /app/\n"}, "sets no WORKDIR"),
        ({"environment/Dockerfile": "FROM ubuntu\nWORKDIR /app\nCOPY --from=x a b\n"}, "COPY --from=x a b"),
        ({"environment/Dockerfile": "FROM ubuntu\nWORKDIR /app\nENV SECRET=1\n"}, "ENV SECRET"),
        (
            {"environment/Dockerfile": "FROM ubuntu\nWORKDIR /app\nCOPY gone.txt .\n"},
            "environment/gone.txt: is not there",
        ),
        (
            {"environment/Dockerfile": "FROM ubuntu\nWORKDIR /app\nCOPY ../../secret.txt .\n"},
            "Dockerfile:3: COPY ../../secret.txt ., which leads out of its folder",
        ),
        ({"environment/Dockerfile": "FROM ubuntu\nWORKDIR /app\nADD data.tar.gz .\n"}, "which unpacks an archive"),
        ({"environment/Dockerfile": 'FROM ubuntu\nWORKDIR /app\nCOPY "data.csv .\n'}, "No closing quotation"),
        ({"environment/Dockerfile": "FROM ubuntu\nWORKDIR /app\nENV\n"}, "Dockerfile:3: ENV of nothing"),
        ({"environment/Dockerfile": "WORKDIR /app\n"}, "names none with FROM"),
        ({"environment/Dockerfile": "FROM ubuntu\nWORKDIR /app; id\n"}, "Dockerfile:2: WORKDIR /app; id"),
        ({"environment/Dockerfile": "FROM ubuntu\nWORKDIR /app\nRUN make \\\n"}, "Dockerfile:3: RUN make"),
        ({"environment/.dockerignore": "notes\n"}, "environment/.dockerignore: leaves files out"),
        ({"environment/Dockerfile": None}, "environment/Dockerfile: is missing"),
        ({"task.toml": "[environment\n"}, "task.toml: is not valid TOML"),
        ({"task.toml": '[agent]\ntimeout_sec = "long"\n'}, "agent.timeout_sec: 'long' is no number of seconds"),
        ({"task.toml": "[verifier]\ntimeout_sec = -1\n"}, "verifier.timeout_sec: -1 is no number of seconds"),
        ({"task.toml": "[metadata]\ntags = 5\n"}, "metadata.tags: is no list"),
        ({"task.toml": '[environment]\nallowed_hosts = "x"\n'}, "environment.allowed_hosts: is no list"),
        ({"environment/docker-compose.yaml": "services: {}\n"}, "it needs several containers"),
        (
            {"task.toml": '[environment]\ndocker_image = "a/b:1"\n'},
            "environment.docker_image: it needs the image a/b:1",
        ),
        ({"task.toml": "[environment]\ngpus = 1\n"}, "environment.gpus: it needs 1 GPUs"),
        ({"task.toml": '[[steps]]\nname = "one"\n'}, "steps: it has several steps"),
        ({"tests/test.sh": None}, "tests/test.sh: is missing"),
        ({"instruction.md": " \n"}, "instruction.md: is missing or empty"),
        ({"instruction.md": "Write to /srv/out.txt.\n"}, "instruction.md: uses /srv/out.txt"),
        ({"tests/test.sh": "pip install numpy\n"}, "tests/test.sh:1: needs the network: pip"),
        ({"tests/check.py": 'open("/root/x")\n'}, "tests/check.py: uses /root/x"),
        ({"solution/solve.sh": "curl -O https://example.org/x\n"}, "solution/solve.sh:1: needs the network: curl"),
        (
            {"tests/test.sh": "uvx -w pytest pytest /tests/t.py\n"},
            "asks for pytest in any version; pin it with ==",
        ),
    ],
)
def test_a_task_that_needs_more_than_a_sandbox_is_listed_with_the_reason(
    changes: dict[str, str | None], reason: str, tmp_path: Path
) -> None:
    found = reasons(tmp_path, changes)

    assert any(reason in line for line in found), found
    assert not (tmp_path / "made").exists() or not any((tmp_path / "made").iterdir())


def test_the_set_up_of_the_usual_test_script_is_done_beforehand() -> None:
    script = """\
#!/bin/bash
apt-get update
apt-get install -y curl
curl -LsSf https://astral.sh/uv/0.9.5/install.sh | sh
source $HOME/.local/bin/env
uvx -p 3.13 -w pytest==8.4.1 \\
    -w pytest-json-ctrf==0.3.5 \\
    pytest --ctrf /logs/verifier/ctrf.json /tests/test_outputs.py -rA
if [ $? -eq 0 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi
"""

    prepared = prepare(script)

    assert prepared.packages == ("pytest==8.4.1", "pytest-json-ctrf==0.3.5")
    assert prepared.text.splitlines()[1] == "pytest --ctrf /logs/verifier/ctrf.json /tests/test_outputs.py -rA"


def test_the_command_lists_what_it_could_not_import_and_ends_with_1_if_that_is_all(tmp_path: Path) -> None:
    make_task(tmp_path / "tasks" / "one", {"environment/Dockerfile": "FROM nvidia/cuda\nWORKDIR /app\n"})

    ended = Shell(tmp_path).run("scenarios", "import", "tasks")

    assert ended.returncode == 1
    assert "tasks/one: not imported" in ended.stdout
    assert "FROM nvidia/cuda, which holds more than a system" in ended.stdout
    assert "0 of 1 tasks imported" in ended.stdout


def test_a_link_out_of_a_task_brings_nothing_of_this_machine_in(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key").write_text("secret")
    task = make_task(tmp_path / "task", {"environment/notes/a.txt": None})
    (task / "environment" / "notes").symlink_to(tmp_path / "private")

    imported = convert(read_task(task), tmp_path / "made")

    assert imported.reasons == (f"environment/notes: links to {tmp_path}/private, out of the task's folder",)
    assert not (tmp_path / "made").exists()


def test_a_copied_path_may_be_absolute_and_is_one_in_the_context_all_the_same(tmp_path: Path) -> None:
    dockerfile = "FROM ubuntu\nWORKDIR /app\nCOPY /data.csv /notes /app/\n"

    imported = convert(
        read_task(make_task(tmp_path / "task", {"environment/Dockerfile": dockerfile})), tmp_path / "made"
    )

    assert imported.scenario is not None, imported.reasons
    names = [path.name for path in (imported.scenario / "workspace").iterdir()]
    assert sorted(names) == ["a.txt", "data.csv"]


def test_a_folder_without_a_task_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no task; one is a folder with task\.toml"):
        find_tasks(tmp_path / "nowhere")


def test_a_scenario_that_is_there_already_is_not_written_over(tmp_path: Path) -> None:
    task = read_task(make_task(tmp_path / "task"))
    assert convert(task, tmp_path / "made").scenario is not None

    (reason,) = convert(task, tmp_path / "made").reasons
    assert reason == f"{tmp_path}/made/task: is there already; remove it, or name another folder with --dir"
