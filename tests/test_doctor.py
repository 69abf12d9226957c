import io
from pathlib import Path

from rich.console import Console

from benchflow.machine.doctor import Line, Program, can_run, examine
from benchflow.report.machine import print_lines


async def test_a_machine_is_examined_by_doing(tmp_path: Path) -> None:
    environ = {"BENCHFLOW_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    (tmp_path / "home" / "cache").mkdir(parents=True)

    lines = await examine(environ, out=tmp_path / "runs")

    by_subject = {line.subject: line for line in lines}
    assert by_subject["process"].ok
    assert by_subject["bash"].detail.startswith("GNU bash")
    assert str(tmp_path / "home") in by_subject["BenchFlow's folder"].detail
    assert "in " + str(tmp_path / "home" / "cache") in by_subject["cache"].detail
    assert can_run(lines)
    assert all(line.ok or line.remedy for line in lines if line.subject != "bubblewrap program")
    assert not (tmp_path / "runs").exists()


async def test_a_missing_program_has_its_remedy(tmp_path: Path) -> None:
    missing = Program(name="no-such-program", needed_for="a test", remedy="install it")

    lines = await examine({"BENCHFLOW_HOME": str(tmp_path)}, out=tmp_path, programs=[missing])

    found = next(line for line in lines if line.subject == "no-such-program")
    assert (found.ok, found.detail, found.remedy) == (False, "not found; needed for a test", "install it")
    assert not can_run(lines)


def test_a_remedy_stands_below_what_is_missing() -> None:
    output = io.StringIO()

    print_lines(
        Console(file=output, width=80),
        [
            Line(area="sandbox", subject="bubblewrap", ok=False, detail="not \x1b[31mfound", remedy="install it"),
            Line(area="sandbox", subject="process", ok=True, detail="works"),
        ],
    )

    assert output.getvalue() == (
        "sandbox\n  no  bubblewrap  not found\n                  install it\n  ok  process     works\n"
    )
