"""A report in Markdown, as GitHub renders it. Nothing that an agent wrote can become markup."""

import re
from collections.abc import Iterable

from benchflow.report.layout import Grid, Heading, Part, Text

_SPECIAL = re.compile(r"([\\`*_{}\[\]|~])")
_MARKS = {"good": "✅ ", "bad": "❌ ", "warn": "⚠️ "}


def render_markdown(parts: Iterable[Part]) -> str:
    """Return the parts as one text."""
    return "\n\n".join(_render(part) for part in parts) + "\n"


def _render(part: Part) -> str:
    match part:
        case Heading(text=title):
            return f"## {escape(title)}"
        case Text(text=said, tone=tone):
            return _MARKS.get(tone, "") + escape(said)
        case Grid():
            return _table(part)


def _table(part: Grid) -> str:
    head = _row(column.title for column in part.columns)
    rule = "|" + "|".join("---:" if column.right else "---" for column in part.columns) + "|"
    return "\n".join([head, rule, *(_row(row) for row in part.rows)])


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join("<br>".join(map(escape, cell.split("\n"))) for cell in cells) + " |"


def escape(text: str) -> str:
    """Return text that Markdown shows as it is."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", plain)
