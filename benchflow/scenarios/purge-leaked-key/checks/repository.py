"""Judges the rewritten repository; the first argument says what of it."""

import subprocess
import sys
from pathlib import Path

FILE = "config/payment.env"
KEY = b"sk_live_7Qm2vX9pLr4T"

HISTORY = {
    "main": [
        ("Ana Ruiz", "2024-02-01T10:00:00+01:00", "Charge a card"),
        ("Bo Lind", "2024-02-02T10:00:00+01:00", "Choose a provider\n\nAcme has the lowest fees."),
        ("Ana Ruiz", "2024-02-05T10:00:00+01:00", "Print receipts"),
        ("Bo Lind", "2024-02-08T10:00:00+01:00", "Take keys from the environment"),
        ("Ana Ruiz", "2024-02-09T10:00:00+01:00", "Say how to run it"),
    ],
    "feature/refunds": [
        ("Ana Ruiz", "2024-02-01T10:00:00+01:00", "Charge a card"),
        ("Bo Lind", "2024-02-02T10:00:00+01:00", "Choose a provider\n\nAcme has the lowest fees."),
        ("Ana Ruiz", "2024-02-05T10:00:00+01:00", "Print receipts"),
        ("Cleo Park", "2024-02-06T10:00:00+01:00", "Refund a charge"),
        ("Cleo Park", "2024-02-07T10:00:00+01:00", "Limit refunds"),
    ],
}
TREES = {
    "main": """
        e04d6508ce052f4685f443e56821bc898caa007a
        6690d43e034aed2eb68b7cc1776caa74f5d5bc13
        47f06fd259b1578779f3665b2c54833e01dd85d9
        f98030182f1a378aebb0a5e180e28de4ab89de70
        67c101918fbf9269caaefc35a637f260314e17bd
    """,
    "feature/refunds": """
        e04d6508ce052f4685f443e56821bc898caa007a
        6690d43e034aed2eb68b7cc1776caa74f5d5bc13
        47f06fd259b1578779f3665b2c54833e01dd85d9
        02ac56822e2ffc63364496060fa6e0ff7573e88e
        14cc29156e33e43471446e1534550b1e32623a51
    """,
}
"""The ids of the commits' trees, oldest first."""


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, check=True).stdout


def text(*arguments):
    return git(*arguments).decode()


def key_is_gone():
    listing = text("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)").split()
    for name, kind in zip(listing[::2], listing[1::2]):
        content = git("cat-file", kind, name)
        assert KEY not in content, f"the {kind} {name} has the key"
        assert kind != "tree" or b" payment.env\0" not in content, f"the tree {name} has the file"
    for path in Path(".").rglob("*"):
        assert not path.is_file() or KEY not in path.read_bytes(), f"{path} has the key"
    refs = set(text("for-each-ref", "--format=%(refname)").split())
    wanted = {"refs/heads/main", "refs/heads/feature/refunds", "refs/tags/v0.1"}
    assert refs == wanted, f"the refs are {sorted(refs)}"


def history():
    for branch, expected in HISTORY.items():
        entries = text("log", "--reverse", "-z", "--format=%an%x1f%aI%x1f%B", branch).rstrip("\0").split("\0")
        found = [tuple(part.strip() for part in entry.split("\x1f")) for entry in entries]
        assert found == expected, f"{branch} has {found}"
        trees = text("log", "--reverse", "--format=%T", branch).split()
        assert trees == TREES[branch].split(), f"{branch}: the files of some commit are not as they were"


def tag():
    assert text("cat-file", "-t", "v0.1").strip() == "tag", "v0.1 is no annotated tag"
    assert text("tag", "--list", "--format=%(contents)", "v0.1").strip() == "First release to the pilot shops"
    assert text("rev-parse", "v0.1^{commit}") == text("rev-parse", "main~2"), "v0.1 marks another commit"
    fork = text("merge-base", "main", "feature/refunds")
    assert fork == text("rev-parse", "main~2"), "the branches part somewhere else"


def clean():
    branch = text("symbolic-ref", "--short", "HEAD").strip()
    assert branch == "main", f"{branch} is checked out"
    status = text("status", "--porcelain", "--ignored")
    assert not status, f"the working tree is not clean:\n{status}"


{"key-is-gone": key_is_gone, "history": history, "tag": tag, "clean": clean}[sys.argv[1]]()
