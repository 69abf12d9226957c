"""What a report consists of, before anyone says how it looks: headings, texts, grids. The terminal and Markdown show
the same.
"""

from dataclasses import dataclass
from typing import Literal

Tone = Literal["plain", "good", "bad", "warn", "quiet"]


@dataclass(frozen=True, kw_only=True)
class Heading:
    text: str


@dataclass(frozen=True, kw_only=True)
class Text:
    """A paragraph."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, kw_only=True)
class Column:
    title: str
    right: bool = False
    """Numbers stand to the right."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table. A cell, or a title, may have a second line, for what is less important."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]


Part = Heading | Text | Grid


def grid(titles: str, rows: list[tuple[str, ...]]) -> Grid:
    """Make a grid; `titles` are separated by `|`, and the first column is the only one that stands to the left."""
    names = titles.split("|")
    return Grid(
        columns=tuple(Column(title=name.strip(), right=index > 0) for index, name in enumerate(names)),
        rows=tuple(rows),
    )
