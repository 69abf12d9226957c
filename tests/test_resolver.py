"""The resolver knows no name, whatever it is asked, and remembers what it was asked for."""

import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sandboxes import entered, needs_bubblewrap, outcome, python

from benchflow.network.border import Border, border_sockets, names_are_seen, what_was_watched
from benchflow.network.dns import refuse
from benchflow.network.resolver import Resolver
from benchflow.network.tally import MOST, OTHERS, Tally
from benchflow.sandbox.interface import Isolation, Network

LABELS = st.lists(st.binary(min_size=1, max_size=63), min_size=1, max_size=6)


def query(*labels: bytes, number: int = 7, flags: int = 0x0100, type: int = 1, more: bytes = b"") -> bytes:
    """Write a query as programs send it."""
    name = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    return struct.pack("!6H", number, flags, 1, 0, 0, int(bool(more))) + name + struct.pack("!2H", type, 1) + more


@asynccontextmanager
async def resolving() -> AsyncIterator[tuple[Resolver, socket.socket]]:
    """Serve a resolver on the loopback; give it and a socket that is connected to it."""
    bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    bound.bind(("127.0.0.1", 0))
    resolver = Resolver()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.connect(bound.getsockname())
        asker.settimeout(10)
        resolver.open(bound)
        try:
            yield resolver, asker
        finally:
            resolver.close()


async def asked(asker: socket.socket, packet: bytes) -> bytes:
    """Send a packet, and wait for the answer."""
    asker.send(packet)
    return await anyio.to_thread.run_sync(asker.recv, 4096)


async def test_a_name_does_not_exist_and_is_remembered_in_lower_case() -> None:
    async with resolving() as (resolver, asker):
        answer = await asked(asker, query(b"API", b"Example", b"com", number=0xBEEF))
        await asked(asker, query(b"api", b"example", b"com", type=28))

    number, flags, questions, *others = struct.unpack("!6H", answer[:12])
    assert (number, flags & 0x8000, flags & 0xF, questions, others) == (0xBEEF, 0x8000, 3, 1, [0, 0, 0])
    assert answer[12:] == query(b"API", b"Example", b"com")[12:]
    assert resolver.looked_up.sorted() == {"api.example.com": 2}


async def test_what_is_no_question_is_answered_as_malformed_and_the_next_is_answered_too() -> None:
    async with resolving() as (resolver, asker):
        answers = [await asked(asker, packet) for packet in (query(b"a")[:14], query(b"a", flags=0x2800), query(b"b"))]

    assert [answer[3] & 0xF for answer in answers] == [1, 4, 3]
    assert resolver.looked_up.sorted() == {"b": 1}


async def test_queries_that_came_before_the_end_are_counted() -> None:
    async with resolving() as (resolver, asker):
        for _ in range(20):
            asker.send(query(b"late"))

    assert resolver.looked_up.sorted() == {"late": 20}


def test_answers_are_not_answered() -> None:
    assert refuse(query(b"a", flags=0x8180)) is None
    assert refuse(b"") is None


def test_a_name_cannot_hide_what_it_is_made_of() -> None:
    answer = refuse(query(b"a.b\\", b"\x00\xff", b"com"))

    assert answer is not None
    assert answer.name == r"a\046b\092.\000\255.com"


@given(st.binary(max_size=600))
def test_any_bytes_are_taken(packet: bytes) -> None:
    answer = refuse(packet)

    assert answer is None or (answer.packet[:2] == packet[:2] and answer.packet[2] & 0x80)


@given(LABELS, st.binary(max_size=40))
def test_any_name_is_echoed_as_it_was_asked(labels: list[bytes], more: bytes) -> None:
    packet = query(*labels)

    answer = refuse(packet + more)

    assert answer is not None
    if len(packet) - 12 - 4 > 256:
        assert answer.name is None
    else:
        assert answer.packet[12:] == packet[12:]
        assert answer.name is not None
        assert answer.name.count(".") == len(labels) - 1


@given(LABELS, st.data())
def test_a_query_cut_anywhere_names_nothing(labels: list[bytes], data: st.DataObject) -> None:
    packet = query(*labels)

    answer = refuse(packet[: data.draw(st.integers(0, len(packet) - 1))])

    assert answer is None or answer.name is None


def test_names_without_end_are_counted_together() -> None:
    tally = Tally()
    for number in range(MOST + 50):
        tally.count(f"{number}.example.com")
    tally.count("7.example.com")

    assert len(tally.sorted()) == MOST + 1
    assert tally.sorted()[OTHERS] == 50
    assert tally.sorted()["7.example.com"] == 2


LOOK_UP = """
import socket, sys
for name in ("localhost", "api.vendor.example", "127.0.0.1"):
    try: print(name, socket.getaddrinfo(name, 443)[0][4][0])
    except socket.gaierror as error: print(name, error.errno == socket.EAI_NONAME)
"""


@needs_bubblewrap
async def test_a_program_in_the_sandbox_learns_at_once_that_there_is_no_such_host(tmp_path: Path) -> None:
    async with entered("bubblewrap") as sandbox:
        process = await sandbox.start(python(tmp_path, LOOK_UP, sockets=border_sockets(sandbox, "gateway")))
        border = Border(sandbox.isolation, "gateway", (), {})
        await border.serve(process.sockets)
        status, stdout, stderr = await outcome(process)
        await process.stop(0)
        await border.aclose()

    lines = stdout.splitlines()
    assert (status, stderr, lines[1]) == (0, "", "api.vendor.example True")
    assert border.tried == {"api.vendor.example"}
    facts = border.facts()
    assert (facts["network"], list(facts["hosts_looked_up"])) == (
        {"mode": "gateway", "enforced": True},
        ["api.vendor.example"],
    )


@pytest.mark.parametrize(
    ("isolation", "network", "seen"),
    [
        ("bubblewrap", "gateway", True),
        ("bubblewrap", "hosts", True),
        ("bubblewrap", "open", False),
        ("bubblewrap", "none", False),
        ("process", "gateway", False),
        ("process", "hosts", False),
    ],
)
def test_names_are_seen_only_where_nobody_else_can_be_asked(isolation: Isolation, network: Network, seen: bool) -> None:
    assert names_are_seen(isolation, network) == seen
    assert Border(isolation, network, (), {}).facts()["hosts_looked_up"] is None
    assert ("names were watched" in what_was_watched(isolation, network)) == (seen or network == "none")
