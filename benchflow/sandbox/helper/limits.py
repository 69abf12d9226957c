"""Resource limits: what a launched program gets, and room for descriptors for those who launch many."""

from __future__ import annotations

import resource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_OPEN_FILES = 65536


def limit(limits: Iterable[tuple[str, int]], pid: int | None = None) -> None:
    """Lower the limits of this process and what it starts, or of another (Linux). Nothing is ever raised."""
    for name, value in limits:
        which = getattr(resource, f"RLIMIT_{name}")
        _, most = resource.getrlimit(which)
        lowered = value if most == resource.RLIM_INFINITY else min(value, most)
        if pid is None:
            resource.setrlimit(which, (lowered, lowered))
        else:
            resource.prlimit(pid, which, (lowered, lowered))


def raise_open_files() -> int:
    """Let this process open as many files as it may, and return the soft limit that it had."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        set_open_files(most)
    return soft


def set_open_files(soft: int) -> None:
    """Set this process's soft limit of open files."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
