"""The certificate of a trial: what became of its requests, made again from the log, and shown."""

import io
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from google_server import google_server
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from stored import make_row, try_folder, write_run
from test_gateway_google_passing import CALLS, request
from test_gateway_google_passing import MODEL as GEMINI
from test_gateway_google_passing import forward_to as forward_to_google
from wire import MODEL, ask, chat_body, forward_to, opened, post, provider, whole

from benchflow.gateway.message import Change
from benchflow.gateway.records.certificate import CERTIFICATE, Certificate, Passage, certify, certify_log
from benchflow.report.certificate import describe_certificate
from benchflow.report.layout import Text
from benchflow.report.profile.making import make_profile
from benchflow.report.profile_layout import profile_parts
from benchflow.report.trial import view_trial
from benchflow.report.trial_console import print_trial
from benchflow.store import StoredRun

ANSWER = whole(json.dumps({"id": "x", "model": MODEL, "choices": [], "usage": None}).encode())
KEY = "fix-mini-baseline-0-1a2b3c4d"


async def test_what_became_of_every_request_is_certified_and_can_be_made_again(tmp_path: Path) -> None:
    bodies = [chat_body(), chat_body(model="another"), chat_body(temperature=0.5)]
    async with provider(ANSWER) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        for sent in (*map(post, bodies), post(b"{}", "/elsewhere")):
            await ask(gateway.port, sent)
        certificate = certify(gateway.tap.exchanges)

    assert (certificate.requests, certificate.as_received, certificate.altered, certificate.not_forwarded) == (
        4,
        2,
        1,
        1,
    )
    assert certificate.changes == {"credentials": 3, "hop_headers": 3, "model": 1}
    assert describe_certificate(certificate) == (
        "4 requests: 2 forwarded as received but for credentials, hop headers; model rewritten in 1; 1 not forwarded"
    )
    assert certify_log(tmp_path / "llm.jsonl") == certificate
    assert certify_log(tmp_path / "none.jsonl") is None


async def test_model_that_is_rewritten_in_the_path_is_no_request_as_received(tmp_path: Path) -> None:
    async with (
        google_server(*CALLS) as server,
        opened(forward_to_google(server.url), tmp_path, model=GEMINI) as gateway,
    ):
        await ask(gateway.port, request("/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse"))
    [exchange] = gateway.tap.exchanges

    assert exchange.sha256_received == exchange.sha256_forwarded
    assert (certify([exchange]).as_received, certify([exchange]).altered) == (0, 1)


async def test_requests_are_certified_in_the_order_of_their_arrival_whenever_they_ended(tmp_path: Path) -> None:
    async with provider(ANSWER) as upstream, opened(forward_to(upstream.url), tmp_path) as gateway:
        for number in range(3):
            await ask(gateway.port, post(chat_body(seed=number)))
        exchanges = gateway.tap.exchanges

    assert certify(reversed(exchanges)) == certify(exchanges)


PASSAGES = st.lists(
    st.builds(
        Passage,
        seq=st.integers(0, 0),
        received=st.sampled_from(["a", "b"]),
        forwarded=st.sampled_from(["a", "b", None]),
        changes=st.lists(
            st.sampled_from(
                [
                    Change(kind="credentials", path="header.authorization", before="x", after="y"),
                    Change(kind="model", path="body.model", before="x", after="y"),
                ]
            ),
            max_size=2,
        ).map(tuple),
    ),
    max_size=4,
).map(lambda passages: [replace(passage, seq=seq) for seq, passage in enumerate(passages)])


@settings(max_examples=50, deadline=None)
@given(PASSAGES, PASSAGES)
def test_certificates_are_equal_just_where_the_passages_are(one: list[Passage], two: list[Passage]) -> None:
    assert (Certificate.of(one) == Certificate.of(two)) == (one == two)
    assert Certificate.of(one).requests == sum(
        [Certificate.of(one).as_received, Certificate.of(one).altered, Certificate.of(one).not_forwarded]
    )


async def logged(folder: Path) -> Certificate:
    """Let three requests pass, logged in the folder; return their certificate."""
    async with provider(ANSWER) as upstream, opened(forward_to(upstream.url), folder) as gateway:
        for number in range(3):
            await ask(gateway.port, post(chat_body(seed=number)))
        return certify(gateway.tap.exchanges)


def shown(run: StoredRun) -> str:
    output = io.StringIO()
    view = view_trial(run, run.trial(KEY))
    print_trial(Console(file=output, width=200, markup=False, highlight=False), view, "last 1")
    return output.getvalue()


async def test_trial_shows_its_certificate_and_whether_the_log_still_says_so(tmp_path: Path) -> None:
    folder = try_folder(tmp_path / "first" / "20261121-101010-mini-ab12", KEY)
    certificate = await logged(folder)
    kept = (folder / "llm.jsonl").read_bytes()

    def run_with(name: str, log: bytes | None, **changes: Any) -> StoredRun:
        row = make_row(extensions={CERTIFICATE: asdict(replace(certificate, **changes))})
        run = write_run(tmp_path / name, row)
        if log is not None:
            (try_folder(run, KEY) / "llm.jsonl").write_bytes(log)
        return StoredRun(run)

    altered = kept.replace(orjson.loads(kept.splitlines()[0])["request"]["sha256_forwarded"].encode(), b"0" * 64)
    said = "certificate: 3 requests: 3 forwarded as received but for credentials, hop headers; model rewritten in 0"
    assert f"{said} (the log says the same)" in shown(run_with("same", kept))
    assert f"{said} (THE LOG SAYS SOMETHING ELSE: one of the two was changed)" in shown(run_with("log", altered))
    assert "THE LOG SAYS SOMETHING ELSE" in shown(run_with("row", kept, digest="0" * 64))
    assert f"{said} (there is no log to check it against)" in shown(run_with("none", None))


def test_report_adds_up_the_certificates_of_a_cell() -> None:
    certificate = Certificate(
        requests=31, as_received=30, not_forwarded=0, changes={"credentials": 31, "model": 1}, digest="d"
    )
    rows = [
        make_row(trial=f"t-{n}", iteration=n, extensions={CERTIFICATE: asdict(certificate)} if n < 2 else {})
        for n in range(3)
    ]

    texts = [part.text for part in profile_parts(make_profile(rows)) if isinstance(part, Text)]

    assert (
        "Model requests, by 2 certificates: 62 requests: 60 forwarded as received but for credentials; "
        "model rewritten in 2."
    ) in texts


@pytest.mark.parametrize("value", [None, "x", {"requests": 1}, {"of": "a later version"}])
def test_certificate_that_cannot_be_read_is_none(value: Any) -> None:
    assert Certificate.read({CERTIFICATE: value} if value else {}) is None
