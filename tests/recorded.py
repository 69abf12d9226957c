"""Model requests of real agents, as `tests/data/requests` has them: one file an agent, one request a line."""

import json
from dataclasses import dataclass
from pathlib import Path

from benchflow.gateway.dialects.table import DIALECTS
from benchflow.gateway.message import ModelRequest, RawRequest
from benchflow.gateway.reading import understand
from benchflow.gateway.upstream import TrialContext

FOLDER = Path(__file__).parent / "data" / "requests"
AGENTS = tuple(sorted(path.stem for path in FOLDER.glob("*.jsonl")))


@dataclass(frozen=True, kw_only=True)
class RecordedRequest:
    """One request, with what was known when it arrived."""

    seq: int
    request: ModelRequest
    prompts: tuple[str, ...]
    """What the client had sent by then."""
    prompt_answered: bool
    """The last of them was answered."""
    role: str
    """Which role it really had, as somebody saw who looked."""


def recorded_requests(agent: str) -> list[RecordedRequest]:
    """Return the requests that were recorded of an agent, in their order."""
    return [_read(line) for line in (FOLDER / f"{agent}.jsonl").read_text().splitlines()]


def _read(line: str) -> RecordedRequest:
    entry = json.loads(line)
    body = json.dumps(entry["body"]).encode()
    raw = RawRequest(method=entry["method"], path=entry["path"], query="", headers=(), body=body)
    request = understand(raw, TrialContext(trial="t", attempt=1, model="m"), DIALECTS).parsed
    assert request is not None, f"{entry['path']}: no dialect reads this request"
    return RecordedRequest(
        seq=entry["seq"],
        request=request,
        prompts=tuple(entry["prompts"]),
        prompt_answered=entry["prompt_answered"],
        role=entry["role"],
    )
