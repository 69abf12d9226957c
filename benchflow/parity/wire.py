"""Wire parity: two runs' model requests, compared in order, first byte for byte, then after the neutral rules. Pure."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from benchflow.gateway.differing import MISSING, Difference
from benchflow.parity.capture import Capture, WireRequest
from benchflow.parity.neutral import Laid, differing, needed_rules
from benchflow.parity.noise import Noise, place
from benchflow.parity.pairing import Key, Pair, pair_requests

Found = Literal["identical", "neutral", "noise", "late", "divergence", "missing", "extra"]
"""identical: equal byte for byte, without any rule. neutral: equal after rules. noise: the agent alone differs from
itself there too. late: one side alone has it, and it was sent after the prompt was answered, in a race with the end.
divergence, missing, extra: the agent inside sends something else, less, or more.
"""
DIVERGES: frozenset[Found] = frozenset({"divergence", "missing", "extra"})


@dataclass(frozen=True, kw_only=True)
class RequestFound:
    """What came of comparing one request."""

    name: str
    """`main 3`, by its place among the requests of its role that the agent alone sent; `extra main 1` otherwise."""
    found: Found
    call: str
    differences: tuple[Difference, ...] = ()
    """In which it diverges."""
    noise: tuple[Difference, ...] = ()
    """In which the agent alone differs from itself too."""
    needed: Mapping[str, int]
    """The rules that it takes, and how often each fired."""
    changed: tuple[str, ...] = ()
    """What our gateway changed in the request inside."""
    forwarded: bool | None = None
    """It was sent on with the very bytes that came; None: it was not sent on, or never came."""


@dataclass(frozen=True, kw_only=True)
class WireCheck:
    """What came of comparing all requests of two runs."""

    requests: tuple[RequestFound, ...]
    identical: int
    """So many are equal byte for byte, without any rule."""
    fired: Mapping[str, int]
    """The rules that it took, and how often each fired."""

    @property
    def parity(self) -> bool:
        """Nothing diverges."""
        return all(request.found not in DIVERGES for request in self.requests)


def compare_wire(
    alone: Capture, inside: Capture, *, noise: Noise | None = None, without: Collection[str] = ()
) -> WireCheck:
    """Compare the requests of two runs. `without` names rules that are not to be applied."""
    return compare_laid(Laid(alone, without), Laid(inside, without), noise or Noise())


def compare_laid(alone: Laid, inside: Laid, noise: Noise, *, count: bool = True) -> WireCheck:
    """The same for captures that are laid out already. `count`: find out which rules it takes, which takes its time."""
    pairs = _paired(alone, inside)
    found: list[RequestFound] = []
    for pair, name in zip(pairs, _names(alone.requests, inside.requests, pairs), strict=True):
        if pair.base is None or pair.head is None:
            base = alone.requests[pair.base] if pair.base is not None else None
            head = inside.requests[pair.head] if pair.head is not None else None
            found.append(_lone(name, base, head, noise))
            continue
        differences = differing(alone, pair.base, inside, pair.head)
        needed = needed_rules(alone, pair.base, inside, pair.head, differences) if count else {}
        both = alone.requests[pair.base], inside.requests[pair.head]
        found.append(_both(name, both, differences, needed, noise))
    fired: Counter[str] = Counter()
    for request in found:
        fired.update(request.needed)
    identical = sum(request.found == "identical" for request in found)
    return WireCheck(requests=tuple(found), identical=identical, fired=dict(fired))


def measure_noise(alone: Laid, again: Laid) -> Noise:
    """Find in what two runs of the agent alone differ."""
    check = compare_laid(alone, again, Noise(), count=False)
    fields: dict[str, tuple[Difference, ...]] = {}
    for request in check.requests:
        for difference in request.differences:
            name = place(request.name, difference)
            fields[name] = (*fields.get(name, ()), difference)
    lone = frozenset(request.name for request in check.requests if request.found in ("missing", "extra"))
    return Noise(fields=fields, lone=lone)


def _paired(alone: Laid, inside: Laid) -> list[Pair]:
    def keys(laid: Laid, others: Laid) -> Key:
        raw = {each.identity for each in others.requests}

        def key(place: int) -> str:
            request = laid.requests[place]
            return request.identity if request.identity in raw else f"{request.role} {laid.bare(place).key}"

        return key

    return pair_requests(alone.requests, inside.requests, keys(alone, inside), keys(inside, alone))


def _names(alone: Sequence[WireRequest], inside: Sequence[WireRequest], pairs: Sequence[Pair]) -> list[str]:
    """Number the requests of each role."""
    count: Counter[str] = Counter()
    names: list[str] = []
    for pair in pairs:
        request = alone[pair.base] if pair.base is not None else inside[pair.head or 0]
        kind = request.role if pair.base is not None else f"extra {request.role}"
        count[kind] += 1
        names.append(f"{kind} {count[kind]}")
    return names


def _lone(name: str, base: WireRequest | None, head: WireRequest | None, noise: Noise) -> RequestFound:
    """Judge a request that only one of the two has."""
    request = base or head
    assert request is not None
    found: Found = "missing" if base else "extra"
    if request.after_prompt and request.role != "main":
        found = "late"
    elif name in noise.lone:
        found = "noise"
    difference = Difference(
        path="request", recorded=base.call if base else MISSING, asked=head.call if head else MISSING
    )
    return RequestFound(
        name=name,
        found=found,
        call=request.call,
        differences=(difference,) if found in DIVERGES else (),
        noise=() if found in DIVERGES else (difference,),
        needed={},
        changed=_changed(head),
        forwarded=_forwarded(head),
    )


def _both(
    name: str,
    both: tuple[WireRequest, WireRequest],
    differences: Sequence[Difference],
    needed: Mapping[str, int],
    noise: Noise,
) -> RequestFound:
    """Judge two requests that correspond."""
    base, head = both
    own = tuple(each for each in differences if noise.explains(name, each))
    diverging = tuple(each for each in differences if each not in own)
    found: Found = "identical" if base.identity == head.identity else "neutral"
    if own:
        found = "noise"
    if diverging:
        found = "divergence"
    return RequestFound(
        name=name,
        found=found,
        call=base.call,
        differences=diverging,
        noise=own,
        needed=needed,
        changed=_changed(head),
        forwarded=_forwarded(head),
    )


def _changed(head: WireRequest | None) -> tuple[str, ...]:
    return tuple(f"{change.kind}: {change.path}" for change in head.changes) if head else ()


def _forwarded(head: WireRequest | None) -> bool | None:
    return None if head is None or head.forwarded is None else head.forwarded == head.sha256
