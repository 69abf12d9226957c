"""What `benchflow parity` has shown of an agent: one versioned JSON document, which goes stale as evidence does."""

import json
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pydantic import Field

from benchflow.errors import InputError
from benchflow.gateway.differing import Difference
from benchflow.manifest import Manifest
from benchflow.model import StrictModel, parse
from benchflow.parity.capture import SCHEMA as CAPTURED
from benchflow.parity.comparison import Parity, ScenarioParity, Word, worst
from benchflow.parity.wire import DIVERGES

SCHEMA = 1
FILE = "parity.json"
REASONS = 3
"""So many of the fields that diverge are kept."""
LONGEST = 240
"""Characters of a reason."""


class ScenarioRecord(StrictModel):
    """What was shown on one scenario."""

    scenario: str
    digest: str
    measured: str
    """When, ISO 8601, UTC."""
    isolation: str | None
    """Of the agent inside."""
    wire: Word | None
    """None: its model calls are not routed."""
    outcome: Word
    runs_alone: int
    runs_inside: int
    requests: int = 0
    identical: int = 0
    """Requests that are equal byte for byte, without any rule."""
    noise: int = 0
    """Requests in which the agent alone differs from itself too."""
    forwarded: int = 0
    """Requests inside that were sent on with the very bytes that came."""
    rules: dict[str, int] = Field(default_factory=dict)
    """The neutral rules that it took, and how often each fired."""
    reasons: tuple[str, ...] = ()
    """In what it diverges, or why it could not be decided."""

    @property
    def word(self) -> Word:
        """The worse of the two checks."""
        return worst([self.outcome, *([self.wire] if self.wire else [])])


class ParityRecord(StrictModel):
    """All that was shown of one agent, at one version."""

    schema_version: Literal[1] = SCHEMA
    compared: int = CAPTURED
    """The schema of what was compared."""
    agent: str
    """Its label."""
    manifest_digest: str
    declared_version: str | None
    agent_version: str | None
    """What it said of itself."""
    benchflow_version: str
    scenarios: tuple[ScenarioRecord, ...]

    @property
    def word(self) -> Word:
        return worst([each.word for each in self.scenarios])

    @property
    def measured(self) -> str:
        """The day of the newest comparison."""
        return max((each.measured for each in self.scenarios), default="")[:10]

    def with_older(self, other: "ParityRecord") -> "ParityRecord":
        """Add what was shown before, of the same agent by the same BenchFlow, on other scenarios."""
        if other.model_copy(update={"scenarios": self.scenarios}) != self:
            return self
        fresh = {each.scenario for each in self.scenarios}
        kept = [each for each in other.scenarios if each.scenario not in fresh]
        every = sorted([*kept, *self.scenarios], key=lambda each: each.scenario)
        return self.model_copy(update={"scenarios": tuple(every)})


def record_of(
    parity: Parity, manifest: Manifest, *, measured: str, benchflow_version: str, hide: Callable[[str], str] = str
) -> ParityRecord:
    """Return what a comparison has shown. `hide` takes out of a reason what is the machine's own."""
    return ParityRecord(
        agent=parity.agent,
        manifest_digest=parity.agent_digest,
        declared_version=manifest.version,
        agent_version=parity.agent_version,
        benchflow_version=benchflow_version,
        scenarios=tuple(_scenario(each, parity.isolation, measured, hide) for each in parity.scenarios),
    )


def _scenario(
    found: ScenarioParity, isolation: str | None, measured: str, hide: Callable[[str], str]
) -> ScenarioRecord:
    check = found.wire.check if found.wire else None
    requests = check.requests if check else ()
    return ScenarioRecord(
        scenario=found.scenario,
        digest=found.scenario_digest,
        measured=measured,
        isolation=isolation,
        wire=found.wire.word if found.wire else None,
        outcome=found.outcome.word,
        runs_alone=found.runs_alone,
        runs_inside=found.runs_inside,
        requests=len(requests),
        identical=check.identical if check else 0,
        noise=sum(bool(each.noise) for each in requests),
        forwarded=sum(bool(each.forwarded) for each in requests),
        rules=dict(check.fired) if check else {},
        reasons=tuple(hide(reason)[:LONGEST] for reason in _reasons(found))[:REASONS],
    )


def _reasons(found: ScenarioParity) -> Iterable[str]:
    if found.wire and found.wire.reason:
        yield found.wire.reason
    told: set[str] = set()
    for request in found.wire.check.requests if found.wire and found.wire.check else ():
        for difference in request.differences if request.found in DIVERGES else ():
            if difference.path not in told:  # a conversation says it again with each request
                told.add(difference.path)
                yield f"{request.name}: {_briefly(difference)}"
    if found.outcome.reason:
        yield found.outcome.reason
    for aspect in found.outcome.check.aspects if found.outcome.check else ():
        if aspect.found == "undecided":
            yield f"{aspect.aspect}: {aspect.said}"
        elif aspect.found == "divergence":
            yield from map(_briefly, aspect.differences)


def _briefly(difference: Difference) -> str:
    """Say in a line in what two values differ."""
    said = " ".join(" ".join(line.split()) for line in difference.lines())
    head = f"{difference.path}: "
    return head + said.removeprefix(head).replace("recorded: ", "alone: ", 1).replace(" asked: ", ", inside: ", 1)


def read_record(path: Path) -> ParityRecord:
    """Read a record. Raises InputError, naming the file, the key and the remedy."""
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError) as exc:
        raise InputError(f"{path}: cannot be read ({exc}); compare again with `benchflow parity`") from exc
    if not isinstance(data, dict) or data.get("schema_version") != SCHEMA:
        raise InputError(f"{path}: is no record of schema {SCHEMA}; compare again with `benchflow parity`")
    return parse(ParityRecord, data, path)


def write_record(path: Path, record: ParityRecord) -> None:
    """Write it, whole or not at all, in a form that diffs well. What the file says of other scenarios stays."""
    if path.is_file():
        with suppress(InputError):  # what cannot be read is replaced
            record = record.with_older(read_record(path))
    draft = path.with_name(f".{path.name}.draft")
    path.parent.mkdir(parents=True, exist_ok=True)
    draft.write_text(json.dumps(record.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n", "utf-8")
    os.replace(draft, path)
