"""Judges the repaired repository; the first argument says what of it."""

import hashlib
import subprocess
import sys

LOG = [
    ("Tomas Lind <tomas@example.com>", "Load members"),
    ("Priya Nair <priya@example.com>", "List members by name"),
    ("Tomas Lind <tomas@example.com>", "Describe the file format"),
    ("Priya Nair <priya@example.com>", "Add CSV export\n\nThe treasurer's program reads name and town."),
    ("Priya Nair <priya@example.com>", "Quote fields in CSV export\n\nTowns may have commas in them."),
]
FILES = {
    "README.md": "904f303bc41d2b5f3724f94d326400a59c437447458e96ee5058a31967117d0f",
    "export.py": "0adc4956d1509e81abf106ae063d7fb7e014e157e1d9f32aa9a8b5890a29a85d",
    "members.py": "30cd989fe9384fe2f87a14c0cba29b89122bc6bb71f295800010d1178cc0b2f2",
}
KEPT = "e1cec4f0c026aba645ab3f6de125005d55e5ab87"


def git(*arguments):
    done = subprocess.run(["git", *arguments], capture_output=True, check=True)
    return done.stdout.decode()


def log():
    entries = git("log", "--reverse", "-z", "--format=%an <%ae>%x1f%B", "main").rstrip("\0").split("\0")
    found = [tuple(part.strip() for part in entry.split("\x1f")) for entry in entries]
    assert found == LOG, f"main has {found}"


def content():
    names = git("ls-tree", "-r", "--name-only", "main").split()
    assert names == sorted(FILES), f"main has the files {names}"
    for name, digest in FILES.items():
        found = hashlib.sha256(git("show", f"main:{name}").encode()).hexdigest()
        assert found == digest, f"{name} is not what the commits made of it"


def kept():
    assert git("rev-parse", "main~2").strip() == KEPT, "main~2 is not Tomas's last commit"


def clean():
    branch = git("symbolic-ref", "--short", "HEAD").strip()
    assert branch == "main", f"{branch} is checked out"
    status = git("status", "--porcelain")
    assert not status, f"the working tree is not clean:\n{status}"


{"log": log, "content": content, "kept": kept, "clean": clean}[sys.argv[1]]()
