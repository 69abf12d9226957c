"""The closed choices that several commands offer."""

from enum import StrEnum


class SandboxWish(StrEnum):
    """How processes are isolated."""

    auto = "auto"
    bubblewrap = "bubblewrap"
    process = "process"
