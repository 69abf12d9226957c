"""Bytes to lines, and odd lines to frames and noise."""

import json
from itertools import pairwise

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchflow.session.framing import Frame, LineSplitter, LineTooLong, Noise, read_odd_line

UPDATE = '{"jsonrpc":"2.0","method":"session/update","params":{}}'


@settings(deadline=None)
@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=8))
def test_lines_are_the_same_however_the_stream_is_cut(stream: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(stream)]
    splitter = LineSplitter()

    lines = [line for begin, end in pairwise(edges) for line in splitter.feed(stream[begin:end])]

    assert [*lines, splitter.rest()] == stream.split(b"\n")


def test_a_line_of_20_mb_in_many_chunks_comes_whole() -> None:
    splitter = LineSplitter()
    line = b"x" * 20_000_000

    early = [splitter.feed(line[begin : begin + 4096]) for begin in range(0, len(line), 4096)]

    assert not any(early)
    assert splitter.feed(b"\nnext") == [line]
    assert splitter.rest() == b"next"


def test_the_bound_is_that_of_one_line() -> None:
    splitter = LineSplitter(limit=1_000)

    for _ in range(10):
        splitter.feed(b"x" * 900)
        assert splitter.feed(b"\n" + b"y" * 900) == [b"x" * 900]
        assert splitter.feed(b"\n") == [b"y" * 900]


def test_a_line_beyond_the_bound_is_refused_before_it_ends() -> None:
    splitter = LineSplitter(limit=1_000)
    splitter.feed(b"x" * 999)

    with pytest.raises(LineTooLong, match="1,000 bytes"):
        splitter.feed(b"xx")


@pytest.mark.parametrize(
    ("line", "pieces"),
    [
        (b"hello", ["hello"]),
        (b"", [""]),
        (b"\x1b[1;33mwarning\x1b[0m", ["\x1b[1;33mwarning\x1b[0m"]),
        (b"123", ["123"]),
        (b"[]", ["[]"]),
        (b"null", ["null"]),
        (b'"x"', ['"x"']),
        (f"[{UPDATE}]".encode(), [f"[{UPDATE}]"]),
        (b"\xff\xfe", ["\\xff\\xfe"]),
        (f"loading... {UPDATE}".encode(), ["loading... ", "frame"]),
        (f"\x1b[0m{UPDATE} done".encode(), ["\x1b[0m", "frame", " done"]),
        (f"\ufeff{UPDATE}".encode(), ["\ufeff", "frame"]),
        (f"{UPDATE}{UPDATE}".encode(), ["frame", "frame"]),
        (f'{{"a": {UPDATE}'.encode(), ['{"a": ', "frame"]),
        (b'[info] {"id": 3, "result": {}}', ['[info] {"id": 3, "result": {}}']),
        (b'{"jsonrpc": "2.0", "params": {"id": 5}', ['{"jsonrpc": "2.0", "params": {"id": 5}']),
        (b"[" * 100_000, ["[" * 100_000]),
        (b'{"id": ' * 10_000, ['{"id": ' * 9_999 + '{"id":']),
    ],
)
def test_odd_lines_are_told_apart(line: bytes, pieces: list[str]) -> None:
    found = read_odd_line(line)

    assert [piece.text if isinstance(piece, Noise) else "frame" for piece in found] == pieces
    assert all(piece.value == json.loads(UPDATE) for piece in found if isinstance(piece, Frame))


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (rb'{"text": "half \ud83d of it"}', {"text": "half \ufffd of it"}),
        (b'{"text": "caf\xe9"}', {"text": "caf\ufffd"}),
        (b'{"used": NaN, "size": -Infinity}', {"used": None, "size": None}),
        (b'{"text": "tab\there"}', {"text": "tab\there"}),
    ],
)
def test_an_object_that_is_not_strict_json_is_cleaned_and_its_original_kept(line: bytes, value: dict[str, str]) -> None:
    (frame,) = read_odd_line(line)

    assert isinstance(frame, Frame)
    assert frame.value == value
    assert orjson.loads(frame.strict) == value
    assert frame.original == line.decode("utf-8", "backslashreplace")


@settings(deadline=None)
@given(st.binary(max_size=100))
def test_no_line_makes_the_reader_fail(line: bytes) -> None:
    for piece in read_odd_line(line):
        assert isinstance(piece, Noise) or orjson.loads(piece.strict) == piece.value


@settings(deadline=None)
@given(st.text(max_size=30), st.text(max_size=30))
def test_a_frame_is_found_in_any_text_around_it(before: str, after: str) -> None:
    line = f"log {before}{UPDATE}{after}".replace("\n", " ").encode("utf-8", "surrogatepass")

    assert json.loads(UPDATE) in [piece.value for piece in read_odd_line(line) if isinstance(piece, Frame)]
