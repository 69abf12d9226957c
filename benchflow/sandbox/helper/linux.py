"""The few system calls that Python's standard library lacks. Not on Linux, they do nothing or are not called."""

from __future__ import annotations

import ctypes
import fcntl
import os
import sys

PR_SET_NO_NEW_PRIVS = 38
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
NS_GET_USERNS = 0xB701
PF_FORKNOEXEC = 0x40
"""In /proc/PID/stat: forked, but nothing executed yet."""

_libc = ctypes.CDLL(None, use_errno=True)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, however it detached itself."""
    _prctl(PR_SET_CHILD_SUBREAPER)


def forbid_new_privileges() -> None:
    """Make set-uid programs run without their privileges, here and below: what is started can always be killed."""
    _prctl(PR_SET_NO_NEW_PRIVS)


def _prctl(option: int) -> None:
    if sys.platform == "linux" and _libc.prctl(option, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option})")


def enter_network_of(pid: int) -> None:
    """Move this single-threaded process into the network namespace of another, and the user namespace that owns it."""
    network = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    owner = fcntl.ioctl(network, NS_GET_USERNS)
    for namespace, kind in ((owner, CLONE_NEWUSER), (network, CLONE_NEWNET)):
        if _libc.setns(namespace, kind) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        os.close(namespace)


def has_executed(pid: int) -> bool:
    """Tell whether a forked process has come to execute its program."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return False
    return not int(fields[6]) & PF_FORKNOEXEC
