"""What a run may cost as a whole. Pure."""

from collections.abc import Iterable

from benchflow.row import ProfileRow


def overspent(rows: Iterable[ProfileRow], allowed_usd: float | None) -> str | None:
    """Say why no further trial may begin; None: it may. What a trial cost that nobody can price counts as nothing."""
    if allowed_usd is None:
        return None
    spent = sum(row.cost.total_usd or 0.0 for row in rows)
    if spent < allowed_usd:
        return None
    return f"--max-cost: the run has cost ${spent:.4f} of ${allowed_usd:g}; no further trial is started"
