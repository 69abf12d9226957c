"""Whole trials on a failing upstream, in each dialect: what their rows say, whatever the agent makes of its end."""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread
from command_line import TINY, Shell, open_shell
from dialect_samples import Ask, Sample, in_every_dialect
from upstream_errors import ERRORS
from wire import Provider, chunked, provider, whole

Answer = Callable[[Sample], bytes]

AGENT = Path(__file__).with_name("dialect_agent.py")


def fine(sample: Sample) -> bytes:
    return chunked(sample.stream)


def status(code: int) -> Answer:
    return lambda sample: whole(sample.error, status=f"{code} Something")


def half(sample: Sample) -> bytes:
    part = sample.stream[: len(sample.stream) // 2]
    return b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 99999\r\n\r\n" + part


def overloaded(sample: Sample) -> bytes:
    return chunked(ERRORS[sample.name].overloaded)


def too_long(sample: Sample) -> bytes:
    return whole(ERRORS[sample.name].too_long, status="400 Bad Request")


def refused_inside(sample: Sample) -> bytes:
    return chunked(ERRORS[sample.name].refused)


@dataclass(frozen=True)
class Case:
    """What an upstream answers to the requests of a try, how the agent ends, and what the row must say."""

    answers: Sequence[Answer]
    end: str
    code: str | None
    score: float | None
    tries: int = 1


CASES: Mapping[str, Case] = {
    "pretends": Case([fine, status(503)], "end_turn", "upstream", None, tries=2),
    "dies-of-it": Case([fine, half], "dies", "upstream", None, tries=2),
    "refuses": Case([fine, overloaded], "refusal", "upstream", None, tries=2),
    "recovers": Case([status(429), half, overloaded, fine], "end_turn", None, 1.0),
    "too-long": Case([fine, too_long], "end_turn", "rejected", 1.0),
    "filtered": Case([fine, refused_inside], "refusal", "rejected", 1.0),
    "refused-at-once": Case([too_long], "end_turn", "setup", None),
    "dies-by-itself": Case([fine], "dies", "crash", 1.0),
}


def prompt_of(name: str) -> str:
    return f"Please do {name}."


def write_everything(shell: Shell, sample: Sample) -> None:
    """Write a scenario for each case, and an agent of this dialect with its requests."""
    requests = {}
    for name, case in CASES.items():
        ask = Ask(text=prompt_of(name))
        path = sample.path(ask) + (f"?{sample.query(ask)}" if sample.query(ask) else "")
        requests[prompt_of(name)] = {
            "requests": [[path, sample.body(ask).decode()]] * len(case.answers),
            "end": case.end,
        }
        text = TINY.replace('"tiny"', f'"{name}"').replace(
            "Write the file done.txt with the word done in it.", prompt_of(name)
        )
        shell.write(f"cases/{name}/scenario.toml", text)
    plan = shell.write("requests.json", json.dumps(requests))
    launch = f"exec {sys.executable} -I {AGENT} {plan}"
    lines = [
        'contract_version = "1.0"',
        'name = "teller"',
        'install_cmd = "true"',
        f"launch_cmd = {json.dumps(launch)}",
    ]
    shell.write("agents/teller/manifest.toml", "\n".join([*lines, f'api_protocol = "{sample.name}"', ""]))


@in_every_dialect
async def test_who_broke_it_decides_whatever_the_agent_makes_of_its_end(sample: Sample, tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    write_everything(shell, sample)
    asked: Counter[str] = Counter()

    async def talk(found: Provider, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name = next((name for name in CASES if prompt_of(name).encode() in found.asked[-1].body), "")
        answers = CASES[name].answers if name else [status(400)]  # else it is asked whether it speaks the dialect
        answer = answers[asked[name] % len(answers)](sample)
        asked[name] += 1
        writer.write(answer)
        await writer.drain()
        if b"Connection: close" in answer:
            writer.close()

    async with provider(talk) as upstream:
        base = f"http://127.0.0.1:{upstream.port}/v1"
        words = ("--agents-dir", "agents", "--sandbox", "process", "--json", "--model", "m", "--upstream", base)
        ended = await anyio.to_thread.run_sync(lambda: shell.run("run", "teller", "./cases", *words))

    assert ended.returncode == 3, ended.stderr
    rows = {row["scenario_id"]: row for row in json.loads(ended.stdout)["rows"]}
    found = {name: (row["error_code"], row["score"], row["tries"]) for name, row in rows.items()}
    assert found == {name: (case.code, case.score, case.tries) for name, case in CASES.items()}
    assert rows["recovers"]["exchanges"] == {"main": 4, "auxiliary": 0, "failed": 3}
