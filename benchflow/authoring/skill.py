"""The skill by which a coding agent adapts another agent: a document, shipped with BenchFlow."""

from pathlib import Path


def skill_text() -> str:
    """Return the document, with the frontmatter that loaders of skills expect."""
    return Path(__file__).with_name("SKILL.md").read_text("utf-8")
