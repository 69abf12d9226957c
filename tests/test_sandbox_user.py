"""The same tests as a plain user, who may read much less and change even fewer limits than root."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

NOBODY = 65534
TESTS = Path(__file__).parent
FILES = ("test_sandbox_process.py", "test_sandbox_ending.py", "test_sandbox_view.py", "test_sandbox_choice.py")
INTERPRETERS = (sys.executable, f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}")


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """Give a folder that every user can read, as those of pytest are not."""
    folder = Path(tempfile.mkdtemp(prefix="benchflow-tests-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run the tests as another user; this is a plain one")
def test_everything_holds_for_a_plain_user(shared_folder: Path) -> None:
    copy = shared_folder / "copy"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(TESTS.parent / "benchflow", copy / "benchflow", ignore=ignored)
    (copy / "tests").mkdir()
    for name in (*FILES, "sandboxes.py", "../pyproject.toml"):
        shutil.copy(TESTS / name, copy / "tests" / name)
    home = shared_folder / "home"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(home),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": f"{copy}:{Path(anyio.__file__).parents[1]}",
    }

    command = [find_interpreter(environment), "-m", "pytest", "-p", "no:cacheprovider", "-rs"]
    run = subprocess.run(
        [*command, *(f"tests/{name}" for name in FILES)],
        cwd=copy,
        env=environment,
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )

    print(run.stdout)
    assert run.returncode == 0, run.stdout + run.stderr


def find_interpreter(environment: dict[str, str]) -> str:
    """Return one that this user may execute, with the same version and packages; skip if there is none."""
    for interpreter in INTERPRETERS:
        attempt = [interpreter, "-c", "import anyio, pytest, hypothesis"]
        try:
            subprocess.run(attempt, env=environment, cwd="/", user=NOBODY, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return interpreter
    pytest.skip("other users can execute no Python with these packages")
