"""Outcome parity: what came of the agent alone and of the agent inside, over one run of each or over many. Pure."""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from benchflow.gateway.differing import MISSING, Difference
from benchflow.gateway.neutral import Side, neutralize
from benchflow.parity.capture import Capture, FileState

Aspect = Literal["score", "tools", "files", "stop_reason"]
Found = Literal["equal", "noise", "divergence", "undecided"]
"""noise: the agent alone differs from itself there too. undecided: too few runs to tell."""
_DRAWN = re.compile(r"(?<![0-9a-zA-Z])(?=[a-f]*[0-9])[0-9a-f]{8,}(?![0-9a-zA-Z])")
"""A part of a file's name that may be drawn by lot."""
MARGIN = 0.1
"""How large a difference of mean scores still counts as none, unless the user says otherwise."""


@dataclass(frozen=True, kw_only=True)
class AspectFound:
    """What came of comparing one aspect."""

    aspect: Aspect
    found: Found
    said: str
    """In a few words, for people."""
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, kw_only=True)
class OutcomeCheck:
    """What came of comparing all aspects."""

    aspects: tuple[AspectFound, ...]

    @property
    def parity(self) -> bool:
        """Nothing diverges, and nothing is left open."""
        return all(each.found in ("equal", "noise") for each in self.aspects)

    @property
    def diverges(self) -> bool:
        return any(each.found == "divergence" for each in self.aspects)


def compare_outcomes(alone: Sequence[Capture], inside: Sequence[Capture], *, margin: float = MARGIN) -> OutcomeCheck:
    """Compare what came of the runs; there is at least one of each side.

    Scores are tested for equivalence where each side has several. Of the rest, each run inside is compared with the
    first alone, and what differs between two runs alone is noise.
    """
    return OutcomeCheck(
        aspects=(
            _score(alone, inside, margin),
            _tools(alone, inside),
            _files(alone, inside),
            _stops(alone, inside),
        )
    )


def _score(alone: Sequence[Capture], inside: Sequence[Capture], margin: float) -> AspectFound:
    base, head = _scores(alone), _scores(inside)
    if not base or not head:
        return AspectFound(aspect="score", found="undecided", said="a side has no score")
    if len(head) < 2:
        return _single_score(base, head[0])
    from benchflow.stats.equivalence import equivalent_groups  # numpy

    test = equivalent_groups(base, head, margin)
    runs = f"{len(base)} runs alone, {len(head)} inside"
    bounds = f"[{test.interval.low:+.3f}, {test.interval.high:+.3f}]" if test.interval else "unknown"
    said = f"mean difference {test.difference:+.3f}, 90 % interval {bounds}, margin {margin:g}, {runs}"
    if test.equivalent:
        return AspectFound(aspect="score", found="equal", said=f"equivalent: {said}")
    difference = Difference(path="score", recorded=base, asked=head)
    beyond = test.interval is not None and (test.interval.low > margin or test.interval.high < -margin)
    if beyond:
        return AspectFound(aspect="score", found="divergence", said=said, differences=(difference,))
    return AspectFound(aspect="score", found="undecided", said=f"equivalence not shown: {said}")


def _single_score(base: Sequence[float], head: float) -> AspectFound:
    if set(base) == {head}:
        return AspectFound(aspect="score", found="equal", said=f"{head:.2f}")
    found: Found = "noise" if len(set(base)) > 1 and min(base) <= head <= max(base) else "divergence"
    difference = Difference(path="score", recorded=base[0], asked=head)
    said = f"alone {', '.join(f'{score:.2f}' for score in base)}; inside {head:.2f}"
    return AspectFound(aspect="score", found=found, said=said, differences=(difference,))


def _scores(captures: Sequence[Capture]) -> list[float]:
    return [each.result.score for each in captures if each.result.score is not None]


def _tools(alone: Sequence[Capture], inside: Sequence[Capture]) -> AspectFound:
    base = [_steps(each) for each in alone]
    said = f"{len(base[0])} calls" if len(base[0]) != 1 else "1 call"
    for steps in map(_steps, inside):
        if steps != base[0]:
            found: Found = "noise" if _vary(base) else "divergence"
            return AspectFound(aspect="tools", found=found, said=said, differences=_steps_differ(base[0], steps))
    return AspectFound(aspect="tools", found="equal", said=said)


def _steps(capture: Capture) -> list[str]:
    side = capture.setting.side()
    return [f"{neutralize(step.name, side).value} ({step.status})" for step in capture.result.tools]


def _steps_differ(base: Sequence[str], head: Sequence[str]) -> tuple[Difference, ...]:
    found: list[Difference] = []
    for tag, start, end, other, other_end in difflib.SequenceMatcher(None, base, head, autojunk=False).get_opcodes():
        if tag != "equal":
            gone, come = list(base[start:end]) or MISSING, list(head[other:other_end]) or MISSING
            found.append(Difference(path=f"tools[{start}]", recorded=gone, asked=come))
    return tuple(found)


def _stops(alone: Sequence[Capture], inside: Sequence[Capture]) -> AspectFound:
    base = [list(each.result.stop_reasons) for each in alone]
    said = ", ".join(str(reason) for reason in base[0])
    for reasons in (list(each.result.stop_reasons) for each in inside):
        if reasons != base[0]:
            found: Found = "noise" if _vary(base) else "divergence"
            difference = Difference(path="stop_reason", recorded=base[0], asked=reasons)
            return AspectFound(aspect="stop_reason", found=found, said=said, differences=(difference,))
    return AspectFound(aspect="stop_reason", found="equal", said=said)


def _vary(values: Sequence[Any]) -> bool:
    return any(value != values[0] for value in values[1:])


def _files(alone: Sequence[Capture], inside: Sequence[Capture]) -> AspectFound:
    base, *others = [_bare_files(each) for each in alone]
    own = {path for other in others for path in _differing(base, other)}
    drawn = {_shape(path) for other in others for path in base.keys() ^ other.keys()} - {None}
    diverging: dict[str, Difference] = {}
    noisy: dict[str, Difference] = {}
    for files in map(_bare_files, inside):
        for path, difference in _differing(base, files).items():
            (noisy if path in own or _shape(path) in drawn else diverging).setdefault(path, difference)
    said = f"{len(base)} files in the workspace"
    if diverging:
        return AspectFound(aspect="files", found="divergence", said=said, differences=tuple(diverging.values()))
    if noisy:
        return AspectFound(aspect="files", found="noise", said=said, differences=tuple(noisy.values()))
    return AspectFound(aspect="files", found="equal", said=said)


def _shape(path: str) -> str | None:
    """Return a name without what is drawn by lot in it; None: nothing in it looks so."""
    shape = _DRAWN.sub("*", path)
    return shape if shape != path else None


def _bare_files(capture: Capture) -> dict[str, Any]:
    """Return what is compared of each file, without what is the run's own in its name and text."""
    side = capture.setting.side()
    found: dict[str, Any] = {}
    for path, state in sorted(capture.result.files.items()):
        name = neutralize(path, side).value
        same = sum(other == name or other.startswith(f"{name} #") for other in found)
        found[f"{name} #{same + 1}" if same else name] = _bare_file(state, side)
    return found


def _bare_file(state: FileState, side: Side) -> Any:
    content = neutralize(state.text, side).value if state.text is not None else f"sha256 {state.sha256}"
    return f"{content}\n(executable)" if state.executable else content


def _differing(base: Mapping[str, Any], head: Mapping[str, Any]) -> dict[str, Difference]:
    return {
        path: Difference(path=f"files.{path}", recorded=base.get(path, MISSING), asked=head.get(path, MISSING))
        for path in sorted({*base, *head})
        if base.get(path, MISSING) != head.get(path, MISSING)
    }
