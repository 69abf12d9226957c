"""The connection alone, against an agent of canned bytes in memory."""

import gc
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import orjson
import pytest
from acp_rig import CannedAgent, Lines

from benchflow.clock import Clock
from benchflow.errors import TrialError
from benchflow.session.connection import Connection
from benchflow.session.framelog import FrameLog
from benchflow.session.rpc import RpcError
from benchflow.session.session import AcpClient

UPDATE = b'{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"plan","entries":[]}}}\n'


def result(value: Any) -> Any:
    return lambda message: [orjson.dumps({"jsonrpc": "2.0", "id": message["id"], "result": value}) + b"\n"]


def handshake(**more: Any) -> dict[str, Any]:
    return {"initialize": result({"protocolVersion": 1}), "session/new": result({"sessionId": "s"}), **more}


@asynccontextmanager
async def opened(agent: CannedAgent, log: Any = None, **options: Any) -> AsyncIterator[AcpClient]:
    async with AcpClient(agent, agent, log=log or Lines(), clock=Clock(), **options) as client:
        await client.initialize(20)
        await client.new_session("/w", timeout_s=20)
        yield client


@asynccontextmanager
async def connected(agent: CannedAgent, log: Lines, **options: Any) -> AsyncIterator[Connection]:
    connection = Connection(
        agent,
        agent,
        frames=FrameLog(log, Clock()),
        **{"handlers": {}, "on_notification": lambda method, params: None, **options},
    )
    connection.start()
    try:
        yield connection
    finally:
        await connection.aclose()


async def test_a_block_is_one_write_with_one_stamp_and_its_frames_as_they_were_sent() -> None:
    log = Lines()
    odd = b'{ "jsonrpc": "2.0",  "method": "x", "params": {"n": 1.50, "n": 2e3} }'
    agent = CannedAgent()
    async with connected(agent, log):
        agent.say(UPDATE + odd + b"\nnoise\n" + UPDATE[:30], UPDATE[30:])
        await log.until(lambda: len(log.blocks) == 2)

    first, second = log.blocks
    assert len({(entry["ts"], entry["mono_ms"]) for entry in map(orjson.loads, first.splitlines())}) == 1
    assert b'"frame":' + odd + b"}\n" in first
    assert b'"frame":' + UPDATE.strip() + b"}\n" in second
    assert [(entry["seq"], entry["dir"]) for entry in log.entries] == [(seq, "in") for seq in range(4)]
    assert list(log.entries[0]) == ["seq", "ts", "mono_ms", "dir", "frame"]


async def test_what_is_logged_survives_an_observer_that_fails() -> None:
    log = Lines()

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    agent = CannedAgent(handshake(**{"session/prompt": lambda message: [UPDATE]}))
    with pytest.raises(ZeroDivisionError):
        async with opened(agent, log, on_event=lambda kind, *_: fail() if kind == "plan" else None) as client:
            await client.prompt(["go"])

    assert log.frames()[-1] == orjson.loads(UPDATE)


@pytest.mark.parametrize("request_id", [0, -7, "a", "7", 1.5, {"odd": [1]}, True])
async def test_a_request_is_answered_with_its_own_id(request_id: Any) -> None:
    log = Lines()
    agent = CannedAgent()
    async with connected(agent, log, handlers={"known": lambda params: {"got": params}}):
        for method in ("known", "unknown", 3):
            agent.say(orjson.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": [1]}) + b"\n")
        await log.until(lambda: len(log.frames("out")) == 3)

    known, *unknown = agent.received
    assert known == {"jsonrpc": "2.0", "id": request_id, "result": {"got": [1]}}
    assert [(frame["id"], frame["error"]["code"]) for frame in unknown] == [(request_id, -32601)] * 2


async def test_a_waiting_request_of_the_agent_can_be_cancelled() -> None:
    log = Lines()

    async def wait(params: Any) -> None:
        await anyio.sleep_forever()

    agent = CannedAgent()
    async with connected(agent, log, handlers={"wait": wait}):
        agent.say(b'{"id":"w","method":"wait"}\n{"method":"$/cancel_request","params":{"requestId":"nobody"}}\n')
        await log.until(lambda: len(log.frames()) == 2)
        agent.say(b'{"method":"$/cancel_request","params":{"requestId":"w"}}\n')
        await log.until(lambda: len(log.frames("out")) == 1)

    assert agent.received[0]["id"] == "w"
    assert agent.received[0]["error"]["code"] == -32800


@pytest.mark.parametrize(
    "response",
    [
        b'{"jsonrpc":"2.0","id":1,"result":{"ok":1}}',
        b'{"id":"1","result":{"ok":1},"error":null}',
        b'{"id":1.0,"result":{"ok":1}}',
        b'{"id":true,"result":{"no":1}}\n{"id":[],"result":1}\n{"id":null,"result":1}\n{"id":1,"result":{"ok":1}}',
    ],
)
async def test_a_response_is_matched_by_its_id(response: bytes) -> None:
    agent = CannedAgent({"ask": lambda message: [response + b"\n"]})
    async with connected(agent, Lines()) as connection:
        assert await connection.call("ask", {}, 20) == {"ok": 1}


async def test_a_response_without_a_result_is_null() -> None:
    agent = CannedAgent({"ask": lambda message: [b'{"id":1}\n']})
    async with connected(agent, Lines()) as connection:
        assert await connection.call("ask", {}, 20) is None


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (b'{"code":-32001,"message":"no","data":{"why":"x"}}', -32001, 'no (-32001): {"why":"x"}'),
        (b'"just text"', -32603, "just text (-32603)"),
        (b'{"code":"E1","message":null}', -32603, "no message (-32603)"),
    ],
)
async def test_an_error_response_is_read_whatever_it_holds(error: bytes, code: int, text: str) -> None:
    agent = CannedAgent({"ask": lambda message: [b'{"id":1,"error":' + error + b"}\n"]})
    async with connected(agent, Lines()) as connection:
        with pytest.raises(RpcError) as caught:
            await connection.call("ask", {}, 20)

    assert (caught.value.code, str(caught.value)) == (code, text)


async def test_the_last_line_needs_no_newline() -> None:
    agent = CannedAgent({"ask": lambda message: [b'{"id":1,"result":"last"}']})
    async with connected(agent, Lines()) as connection:
        reply = connection.request("ask", {})
        while not agent.received:
            await anyio.lowlevel.checkpoint()
        agent.close()
        assert await reply.wait() == "last"


async def test_an_end_without_a_process_is_told_as_what_it_is() -> None:
    agent = CannedAgent(handshake(**{"session/prompt": lambda message: agent.close() or []}))
    async with opened(agent) as client:
        with pytest.raises(TrialError, match="the agent closed its stdout") as caught:
            await client.prompt(["go"])

    assert caught.value.code == "protocol"


class Unread(CannedAgent):
    """An agent that never reads its stdin."""

    async def send(self, data: bytes) -> None:
        await anyio.sleep_forever()


async def test_reading_goes_on_when_the_agent_does_not_read() -> None:
    log = Lines()
    agent = Unread()
    async with connected(agent, log) as connection:
        agent.say(*[b'{"id":%d,"method":"unknown"}\n' % number for number in range(2_000)])
        await log.until(lambda: len(log.frames()) == 2_000)
        with pytest.raises(TimeoutError):
            await connection.call("ask", {}, 0.01)


async def test_an_agent_that_leaves_too_much_unread_is_given_up() -> None:
    agent = Unread()
    async with connected(agent, Lines()) as connection:
        reply = connection.request("ask", {"text": "x" * 65_000_000})
        connection.notify("tell", {"text": "x" * 65_000_000})
        with pytest.raises(Exception, match="bytes on its stdin unread"):
            await reply.wait()


async def test_memory_stays_flat_over_many_updates() -> None:
    class Nothing:
        def write(self, lines: bytes) -> None:
            pass

    block = UPDATE * 500
    agent = CannedAgent(handshake())
    async with opened(agent, Nothing()) as client:
        for kind in ("warm", "measured"):
            agent.answers["session/prompt"] = lambda message: result({"stopReason": "end_turn"})(message)
            tracemalloc.start()
            for _ in range(100):
                agent.say(block)
            await client.prompt([kind])
            gc.collect()
            held, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()

    assert held < 1_000_000
