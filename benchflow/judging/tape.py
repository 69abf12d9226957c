"""A judge on tape: what it answers is written down once, and played again to the very same questions."""

from collections.abc import Callable, Sequence
from pathlib import Path

from benchflow import __version__
from benchflow.gateway.cassettes.cassette import Head, read_cassette
from benchflow.gateway.cassettes.recorder import CassetteRecorder
from benchflow.gateway.cassettes.replay import Replay
from benchflow.gateway.cassettes.writer import CassetteFile
from benchflow.gateway.prices import Pricing
from benchflow.gateway.upstream import PLAYED, Upstream
from benchflow.gateway.upstreams.opening import OpenedUpstream
from benchflow.redact import Redactor

WHO = "judge"
"""Stands for the agent in the head of a judge's cassette."""


def judge_recorder(path: Path, opened: OpenedUpstream, redactor: Redactor) -> Callable[[Upstream], Upstream]:
    """Make the file, and return what wraps the judge's upstream. Raises InputError where it cannot be written."""
    head = Head(
        agent=WHO,
        agent_version=None,
        upstream=opened.label,
        model=opened.model,
        provider=opened.provider,
        scenarios={},
        benchflow=__version__,
    )
    file = CassetteFile(path, head, redactor)

    def wrap(upstream: Upstream) -> Upstream:
        pricing = Pricing(provider=upstream.priced_as, bought=upstream.name not in PLAYED)
        return CassetteRecorder(upstream, file, pricing=pricing, redactor=redactor)

    return wrap


def open_judge_replay(path: Path, secrets: Sequence[str] = ()) -> OpenedUpstream:
    """Open a cassette as a judge. Raises InputError where it cannot be read."""
    cassette = read_cassette(path)
    replay = Replay(cassette, Redactor(secrets))
    return OpenedUpstream(
        upstream=replay,
        model=cassette.head.model,
        label=cassette.label,
        provider=cassette.head.provider,
        misses=replay.misses,
    )
