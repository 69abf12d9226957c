"""The helper by itself: what it is made of, and what it does where there is no /proc."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchflow.sandbox.helper import processes

SANDBOX = Path(processes.__file__).parents[1]


def test_helper_loads_nothing_but_the_standard_library() -> None:
    script = "import sys; sys.path.append(sys.argv[1]); from helper import server; print(*sys.modules)"
    command = [sys.executable, "-I", "-S", "-c", script, str(SANDBOX)]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True, env={}).stdout.split()

    packages = {name.partition(".")[0] for name in loaded}
    assert packages - sys.stdlib_module_names == {"__main__", "helper"}
    assert not {"asyncio", "threading", "subprocess", "dataclasses", "typing"} & packages


def test_table_of_processes_names_this_one_and_its_parent() -> None:
    if not any(Path(folder, "ps").exists() for folder in os.environ["PATH"].split(":")):
        pytest.skip("there is no ps")

    assert (os.getpid(), os.getppid(), os.getpgrp()) in processes.list_processes()


@pytest.mark.parametrize(
    ("root", "group", "found"),
    [
        (10, 11, [11, 12, 14, 13, 20]),  # 20 was left behind by one of the group
        (11, 0, [12, 14]),  # the kernel's own are in group 0
        (30, 0, []),
    ],
)
def test_descendants_from_a_table(root: int, group: int, found: list[int]) -> None:
    table = [
        (1, 0, 1),
        (2, 0, 0),
        (10, 1, 10),
        (11, 10, 11),
        (12, 11, 11),
        (13, 10, 13),
        (14, 11, 14),
        (20, 1, 11),
        (30, 1, 30),
    ]

    assert sorted(processes.below(table, root, group)) == sorted(found)
