"""What a failing upstream is taken for, in each dialect: who broke it decides, whatever the agent makes of it."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from dialect_samples import ERROR, TEXT, Ask, Sample, in_every_dialect
from upstream_errors import ERRORS, Errors
from wire import Opened, Provider, chunked, client, opened, post, provider, until, whole

from benchflow.gateway.upstreams.forward import Forward, Target
from benchflow.outcome import exchange_fault

Fault = tuple[str, str] | None


def request(sample: Sample, *, stream: bool = True) -> bytes:
    ask = Ask(stream=stream)
    query = f"?{sample.query(ask)}" if sample.query(ask) else ""
    return post(sample.body(ask), path=sample.path(ask) + query)


def forward(sample: Sample, url: str) -> Forward:
    return Forward(Target(name="local", base_urls={sample.name: url}, key="sk-real-key-0001"))


async def play(sample: Sample, folder: Path, answers: Sequence[bytes | None], *, stream: bool = True) -> Opened:
    """Ask once for each answer of the provider; None: it hangs up without one."""

    async def talk(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answer = answers[len(found.asked) - 1]
        if answer is None:
            writer.close()
        else:
            writer.write(answer)
            await writer.drain()
            if not answer.endswith(b"\r\n0\r\n\r\n") and b"Content-Length" not in answer:
                writer.close()

    async with provider(talk) as upstream, opened(forward(sample, upstream.url), folder) as gateway:
        for number in range(len(answers)):
            async with client(gateway.port) as agent:
                with suppress(asyncio.IncompleteReadError, ConnectionError):
                    await agent.ask(request(sample, stream=stream))
            await until(lambda number=number: len(gateway.tap.exchanges) == number + 1)
    return gateway


def fault_of(gateway: Opened) -> Fault:
    fault = exchange_fault(gateway.tap.exchanges, require_capture=True)
    return (fault.code, fault.message) if fault else None


def ok(sample: Sample) -> bytes:
    return chunked(sample.stream)


def error(sample: Sample, status: int) -> bytes:
    return whole(sample.error, status=f"{status} Something")


def cut(sample: Sample) -> bytes:
    half = sample.stream[: len(sample.stream) // 2]
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(half), half)


@in_every_dialect
@pytest.mark.parametrize("status", [401, 403, 408, 429, 500, 502, 503, 529])
async def test_last_request_that_the_upstream_refused_by_itself_is_the_upstreams_failure(
    sample: Sample, status: int, tmp_path: Path
) -> None:
    gateway = await play(sample, tmp_path, [ok(sample), error(sample, status)])

    message = f"the last model request failed at the upstream: status {status}: {ERROR}"
    assert fault_of(gateway) == ("upstream", message)


@in_every_dialect
@pytest.mark.parametrize("answer", [cut, lambda sample: None], ids=["cut", "no answer"])
async def test_last_answer_that_broke_off_or_never_came_is_the_upstreams_failure(
    sample: Sample, answer: Callable[[Sample], bytes | None], tmp_path: Path
) -> None:
    gateway = await play(sample, tmp_path, [ok(sample), answer(sample)])

    fault = fault_of(gateway)
    assert fault
    assert fault[0] == "upstream"


@in_every_dialect
async def test_error_of_the_server_inside_a_stream_is_the_upstreams_failure(sample: Sample, tmp_path: Path) -> None:
    gateway = await play(sample, tmp_path, [ok(sample), chunked(ERRORS[sample.name].overloaded)])

    assert [exchange.end for exchange in gateway.tap.exchanges] == ["complete", "upstream_cut"]
    fault = fault_of(gateway)
    assert fault
    assert (fault[0], "cut: " in fault[1]) == ("upstream", True)


@in_every_dialect
async def test_failures_that_a_later_request_got_past_change_nothing_and_are_counted(
    sample: Sample, tmp_path: Path
) -> None:
    overloaded = chunked(ERRORS[sample.name].overloaded)

    gateway = await play(sample, tmp_path, [error(sample, 429), None, cut(sample), overloaded, ok(sample)])

    assert fault_of(gateway) is None
    assert [exchange.failed_upstream for exchange in gateway.tap.exchanges] == [True, True, True, True, False]
    assert gateway.tap.exchanges[-1].answer.text == TEXT


def body_of(name: str) -> Callable[[Errors], bytes]:
    return lambda errors: whole(getattr(errors, name), status="400 Bad Request")


REFUSALS = {
    "context length": body_of("too_long"),
    "content filter": body_of("filtered"),
    "inside the answer": lambda errors: chunked(errors.refused),
}


@in_every_dialect
@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
async def test_request_refused_for_what_is_in_it_is_the_agents_doing_unless_it_is_the_first(
    sample: Sample, refusal: Callable[[Errors], bytes], tmp_path: Path
) -> None:
    answer = refusal(ERRORS[sample.name])
    (tmp_path / "later").mkdir()
    (tmp_path / "first").mkdir()

    later = fault_of(await play(sample, tmp_path / "later", [ok(sample), answer]))
    first = fault_of(await play(sample, tmp_path / "first", [answer]))

    assert later
    assert first
    assert (later[0], first[0]) == ("rejected", "setup")


@in_every_dialect
async def test_answer_that_is_not_streamed_and_no_answer_at_all_inside_is_the_upstreams_failure(
    sample: Sample, tmp_path: Path
) -> None:
    gateway = await play(sample, tmp_path, [whole(b"<html>come back later</html>")], stream=False)

    fault = fault_of(gateway)
    assert fault
    assert (fault[0], "not JSON: <html>" in fault[1]) == ("upstream", True)
