"""Judges the repository: one new commit that changes slugs.py, on top of what was there."""

import subprocess


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, check=True).stdout.decode().strip()


assert git("symbolic-ref", "--short", "HEAD") == "main", "main is not checked out"
assert git("rev-parse", "main~1") == "8443dbc5dc81c7d757af1b2c2c8b36de934554a6", "main is not one commit further than it was"
assert git("log", "-1", "--format=%s", "main").startswith("Fix "), "the message does not begin with `Fix `"
assert "slugs.py" in git("diff", "--name-only", "main~1", "main").split(), "the new commit does not change slugs.py"
status = git("status", "--porcelain")
assert not status, f"the working tree is not clean:\n{status}"
