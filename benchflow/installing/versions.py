"""Constraints on a runtime's version: `3.12`, `>=22`, `>=3.12,<3.14`. Pure.

A constraint looks at as many parts of a version as it names itself: `3.12` allows 3.12.1, and `<=22` allows 22.9.
"""

import re
from dataclasses import dataclass
from typing import Self

_TERM = re.compile(r"\s*(>=|<=|==|>|<)?\s*([0-9]+(?:\.[0-9]+)*)\s*(?:,|\s|$)")
PATTERN = rf"^(?:{_TERM.pattern})+$"
"""What a constraint looks like, as one regular expression."""


@dataclass(frozen=True)
class Constraint:
    """A list of terms, all of which must hold."""

    terms: tuple[tuple[str, tuple[int, ...]], ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a constraint. Raises ValueError saying what one looks like."""
        terms, at = [], 0
        while at < len(text):
            match = _TERM.match(text, at)
            if match is None:
                raise ValueError(f"must look like 3.12, >=22, or >=3.12,<3.14; it is {text!r}")
            terms.append((match[1] or "==", _parts(match[2])))
            at = match.end()
        if not terms:
            raise ValueError("must look like 3.12, >=22, or >=3.12,<3.14; it is empty")
        return cls(tuple(terms))

    def allows(self, version: str) -> bool:
        """Say whether a version, `3.12.1`, fits."""
        return all(_holds(operator, _parts(version)[: len(parts)], parts) for operator, parts in self.terms)

    def for_npm(self) -> str:
        """Write the constraint as a range of npm's."""
        return " ".join(f"{'' if operator == '==' else operator}{_text(parts)}" for operator, parts in self.terms)

    def for_pip(self) -> str:
        """Write the constraint as pip's specifiers, which compare whole versions."""
        written = []
        for operator, parts in self.terms:
            following = (*parts[:-1], parts[-1] + 1)
            match operator:
                case "==":
                    written.append(f"=={_text(parts)}.*")
                case "<=":
                    written.append(f"<{_text(following)}")
                case ">":
                    written.append(f">={_text(following)}")
                case _:
                    written.append(f"{operator}{_text(parts)}")
        return ",".join(written)


def _holds(operator: str, version: tuple[int, ...], parts: tuple[int, ...]) -> bool:
    match operator:
        case ">=":
            return version >= parts
        case "<=":
            return version <= parts
        case ">":
            return version > parts
        case "<":
            return version < parts
    return version == parts


def _parts(version: str) -> tuple[int, ...]:
    """Read the leading numbers of a version: (3, 13, 0) of `3.13.0rc1`."""
    return tuple(int(part) for part in re.findall(r"\d+", (re.match(r"[0-9]+(\.[0-9]+)*", version) or [""])[0]))


def _text(parts: tuple[int, ...]) -> str:
    return ".".join(map(str, parts))
