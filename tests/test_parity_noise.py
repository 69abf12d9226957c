"""In what an agent differs from itself is found by running it alone again, and hides nothing beyond that."""

from dataclasses import replace
from typing import Any

import pytest
from parity_samples import ALONE, HEADERS, capture_of, captured, request_of

from benchflow.gateway.differing import MISSING, Difference
from benchflow.parity.capture import Capture
from benchflow.parity.comparison import compare
from benchflow.parity.neutral import Laid
from benchflow.parity.noise import common_parts, fits
from benchflow.parity.wire import compare_wire, measure_noise


def chat(*texts: Any, **more: Any) -> Capture:
    return capture_of([request_of("/v1/chat/completions", "main", {"messages": list(texts), **more}, HEADERS)])


def found(alone: Capture, again: Capture, inside: Capture) -> list[str]:
    noise = measure_noise(Laid(alone), Laid(again))
    return [request.found for request in compare_wire(alone, inside, noise=noise).requests]


def test_number_drawn_by_lot_is_noise() -> None:
    assert found(chat(seed=1), chat(seed=2), chat(seed=3)) == ["noise"]


def test_field_that_was_the_same_alone_is_no_noise_inside() -> None:
    assert found(chat(seed=1), chat(seed=1), chat(seed=3)) == ["divergence"]


def test_noise_in_one_field_hides_nothing_in_another() -> None:
    check = found(chat(seed=1, top_p=0.1), chat(seed=2, top_p=0.1), chat(seed=3, top_p=0.2))

    assert check == ["divergence"]


def test_noisy_part_of_a_text_hides_no_other_word_of_it() -> None:
    one, two = chat("be kind, lucky number 17 of today, be brief"), chat("be kind, lucky number 23 of today, be brief")

    assert found(one, two, chat("be kind, lucky number 5 of today, be brief")) == ["noise"]
    assert found(one, two, chat("be mean, lucky number 5 of today, be brief")) == ["divergence"]
    assert found(one, two, chat("be kind, lucky number 5 of today, be long")) == ["divergence"]
    assert found(one, two, chat("be kind, lucky number 5 of yesterday, be brief")) == ["divergence"]


def test_text_that_is_cut_at_another_place_is_noise_where_longer_paths_cut_it_too() -> None:
    assert found(chat("begin middle … end"), chat("begin … end"), chat("begin middle more … end")) == ["noise"]


def test_field_that_only_some_runs_have_is_noise() -> None:
    assert found(chat(), chat(tag=1), chat(tag=2)) == ["noise"]
    assert found(chat(tag=1), chat(tag=2), chat()) == ["divergence"]


def test_request_that_only_some_runs_send_is_noise() -> None:
    once = captured("openai-completions")
    title = replace(once.requests[0], sha256="t", body={"messages": ["a title"]})
    twice = replace(once, requests=(*once.requests, title))

    assert found(once, twice, twice)[-1] == "noise"
    assert found(twice, once, once)[-1] == "noise"
    assert found(once, once, twice)[-1] == "extra"


def test_order_of_keys_that_changes_by_itself_is_noise() -> None:
    one, two, three = ({"a": 1, "b": 2, "c": 3}, {"b": 2, "a": 1, "c": 3}, {"c": 3, "b": 2, "a": 1})

    assert found(chat(metadata=one), chat(metadata=two), chat(metadata=three)) == ["noise"]
    assert found(chat(metadata=one), chat(metadata=one), chat(metadata=three)) == ["divergence"]


@pytest.mark.parametrize(
    ("one", "other", "parts"),
    [
        ("a b c", "a x c", ("a ", " c")),
        ("a b c d e", "a x c y e", ("a ", " c ", " e")),
        ("b c", "x c", ("", " c")),
        ("a b", "a x", ("a ", "")),
        ("a b", "x y", ("", "")),
        ("same", "same", ("same", "")),
    ],
)
def test_common_parts_of_two_texts(one: str, other: str, parts: tuple[str, ...]) -> None:
    assert common_parts(one, other) == parts
    assert fits(one, parts)
    assert fits(other, parts)


def test_overlapping_parts_do_not_fit() -> None:
    assert not fits("ab", ("ab", "b"))
    assert fits("abb", ("ab", "b"))


def test_rule_that_is_switched_off_is_not_taken_for_noise() -> None:
    moved = replace(ALONE, workspace="/elsewhere/workspace")
    alone = [replace(chat("in /srv/parity-x1/workspace"), setting=ALONE)]
    alone.append(replace(chat("in /elsewhere/workspace"), setting=moved))

    parity = compare(alone, [chat("in /workspace")], scenario="s", scenario_digest="d", without=["paths"])

    assert parity.word == "divergence"
    assert parity.wire
    assert parity.wire.check
    assert parity.wire.check.requests[0].differences == (
        Difference(path="body.messages[0]", recorded="in /srv/parity-x1/workspace", asked="in /workspace"),
    )


def test_field_that_is_missing_is_said_to_be() -> None:
    check = compare_wire(chat(), chat(tag=1))

    assert check.requests[0].differences == (Difference(path="body.tag", recorded=MISSING, asked=1),)
