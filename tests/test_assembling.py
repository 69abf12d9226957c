"""Events that are merged before they are read say what they said one by one."""

import json

import orjson
from hypothesis import given
from hypothesis import strategies as st

from benchflow.gateway.dialects.assembling import delta_of, merge_texts, parse_events
from benchflow.gateway.dialects.chat_assembler import ChatAssembler
from benchflow.gateway.dialects.messages_assembler import MessagesAssembler

texts = st.lists(st.sampled_from(["He", "llo", '"quoted"', "\\", "\n", "é", "😀", "", '"}', "delta"]), max_size=30)
TEXT = delta_of(rb'"content":')


@given(texts, st.booleans())
def test_text_of_a_chat_is_what_its_pieces_make(pieces: list[str], spaced: bool) -> None:
    separators = (", ", ": ") if spaced else (",", ":")
    assembler = ChatAssembler()
    for index, piece in enumerate(pieces):
        key = "reasoning_content" if index % 7 == 6 else "content"
        choice = {"index": 0, "delta": {key: piece}, "finish_reason": None}
        event = json.dumps({"id": "c", "choices": [choice]}, separators=separators, ensure_ascii=index % 2 == 0)
        assembler.feed(f"data: {event}\n\n".encode())

    answer = assembler.result()

    assert answer.text == "".join(piece for index, piece in enumerate(pieces) if index % 7 != 6)
    assert answer.thought == "".join(piece for index, piece in enumerate(pieces) if index % 7 == 6)


@given(st.lists(st.tuples(st.integers(0, 1), st.sampled_from(["a", "\\", '"', "é"])), max_size=20))
def test_text_of_a_message_is_what_its_pieces_make(pieces: list[tuple[int, str]]) -> None:
    assembler = MessagesAssembler()
    for index in (0, 1):
        block = {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}
        assembler.feed(b"event: content_block_start\ndata: " + orjson.dumps(block) + b"\n\n")
    for index, piece in pieces:
        event = {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": piece}}
        assembler.feed(b"event: content_block_delta\ndata: " + orjson.dumps(event) + b"\n\n")

    blocks = assembler.result().body["content"]

    assert [block["text"] for block in blocks] == [
        "".join(piece for index, piece in pieces if index == at) for at in (0, 1)
    ]


def test_events_that_differ_in_a_text_alone_become_one_and_others_stay() -> None:
    two = b'{"choices":[{"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}]}'
    events = [
        b'{"choices":[{"delta":{"content":"He"}}]}',
        b'{"choices":[{"delta":{"content":"l\\"lo"}}]}',
        two,
        two,
        b'{"choices":[{"delta":{"content":"","x":1}}]}',
        b'{"choices":[{"delta":{"content":"!"}}],"usage":{}}',
    ]

    merged = merge_texts(events, TEXT)

    assert merged == [b'{"choices":[{"delta":{"content":"Hel\\"lo"}}]}', *events[2:]]
    assert len(parse_events(merged)) == 5
