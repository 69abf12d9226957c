"""The name by which a tool is counted. Agents put anything in a name's place, a whole command line among it."""

import re

from benchflow.contracts import ToolCallRecord

KINDS = frozenset(
    ("read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"),
)
"""ACP's kinds of tools."""

_NAME = re.compile(r"[\w.:/@-]{1,64}")


def kind_of(record: ToolCallRecord) -> str:
    """Return the call's kind; one that ACP does not have is `other`."""
    return record.kind if record.kind in KINDS else "other"


def tool_of(record: ToolCallRecord) -> str:
    """Return the tool's name: at most 64 letters, digits and `_.:/@-`. What is no such name counts under its kind."""
    return record.name if _NAME.fullmatch(record.name) else kind_of(record)
