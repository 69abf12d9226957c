"""What a run that is resumed has already: values, empty for a new one."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchflow.row import ProfileRow


@dataclass(frozen=True, kw_only=True)
class FormerTries:
    """What there is of a trial without a row that counts. A try that was cut off is run again: it is not here."""

    ended: int = 0
    """The next try has the number after them."""
    forgiven: int = 0
    """How many of them count no more when a try may be repeated: the user asked for another."""


NEW = FormerTries()
"""Of a trial that was never begun."""


@dataclass(frozen=True, kw_only=True)
class FormerPart:
    """What there is of a run."""

    rows: Mapping[str, ProfileRow] = field(default_factory=dict)
    """Of the trials that are not run again, by their keys."""
    tries: Mapping[str, FormerTries] = field(default_factory=dict)
    """Of the others that were begun, by their keys."""
