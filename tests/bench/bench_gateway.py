"""What the gateway costs: time added in every dialect, streams a second, memory, its start, its log.

Run it by hand: `python tests/bench/bench_gateway.py [PART...] [--exchanges N] [--rounds N]`, PART being one of
`latency`, `throughput`, `trials`, `memory`, `long`, `log`. Provider, load and gateway are processes of their own. The
same load goes straight to the provider, through a minimal pass-through of aiohttp that records nothing, and through the
gateway with full capture, in turns; the ratios count.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import orjson
from peers import (
    BLOCK,
    CHUNKS,
    MODEL,
    PROMPT,
    SAMPLES,
    SECRETS,
    STREAMS,
    Load,
    Peer,
    listener,
    load,
    peer,
    port_of,
    request,
)

from benchflow.clock import Clock
from benchflow.gateway.gateway import Gateway
from benchflow.gateway.upstream import TrialContext
from benchflow.gateway.upstreams.null import Null
from benchflow.redact import Redactor

AT_ONCE = 64
LATENCIES = 200
REQUESTS = 1_280
A_TRIAL = 500
"""Exchanges of one trial, where memory is measured."""


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


async def latency(peers: dict[str, Peer], rounds: int) -> None:
    """Print the median time of a request, one after another, in every dialect."""
    for sample in SAMPLES:
        for stream in (False, True):
            asked = request(sample, stream=stream)
            found: dict[str, list[float]] = {name: [] for name in peers}
            for _ in range(rounds):
                for name, to in peers.items():
                    found[name].append(median(await load(to.port, asked, at_once=1, each=LATENCIES)) * 1e3)
            direct = median(found["direct"])
            added = {name: median(values) - direct for name, values in found.items()}
            print(
                f"{sample.name:22} {f'{CHUNKS} chunks' if stream else 'whole':9} direct {direct:.3f} ms; added p50: "
                f"pass-through {added['pass-through']:+.3f} ms, gateway {added['gateway']:+.3f} ms"
            )


async def throughput(peers: dict[str, Peer], rounds: int) -> None:
    """Print how many streams pass in a second, 64 at once."""
    for sample in SAMPLES:
        asked = request(sample, stream=True)
        rates: dict[str, list[float]] = {name: [] for name in peers}
        costs: dict[str, list[float]] = {name: [] for name in peers}
        for _ in range(rounds):
            for name, to in peers.items():
                begun, before = time.perf_counter(), to.cpu_s
                await load(to.port, asked, at_once=AT_ONCE, each=REQUESTS // AT_ONCE)
                rates[name].append(REQUESTS / (time.perf_counter() - begun))
                costs[name].append((to.cpu_s - before) / REQUESTS * 1e6)
        told = (f"{name} {median(rates[name]):,.0f}/s ({median(costs[name]):.0f} µs CPU)" for name in peers)
        ratio = median(rates["gateway"]) / median(rates["pass-through"])
        print(f"{sample.name:22} {AT_ONCE} at once: {', '.join(told)}; {ratio:.2f} of the pass-through")


async def trials(folder: Path, rounds: int) -> None:
    """Print what a trial with one exchange costs, beside its answer: start, attach, record, close."""
    starts, shares = [], []
    asked = request(SAMPLES[0], stream=True)
    for number in range(rounds):
        begun = time.perf_counter()
        async with Gateway(Null(), clock=Clock(), redactor=Redactor(SECRETS)) as opened:
            for trial in range(50):
                own = folder / f"trial-{number}-{trial}"
                own.mkdir()
                sock = listener()
                port = port_of(sock)
                cpu = time.process_time()
                context = TrialContext(trial=f"trial-{trial:04}", attempt=1, model=MODEL, prompts=(PROMPT,))
                tap = await opened.attach(sock, context, own)
                if not trial:
                    starts.append((time.perf_counter() - begun) * 1e3)
                tap.prompt_sent(PROMPT)
                loop = asyncio.get_running_loop()
                client = (await loop.create_connection(lambda: Load(asked, 1), "127.0.0.1", port))[1]
                await client.done
                tap.prompt_answered()
                await tap.close()
                shares.append((time.process_time() - cpu) * 1e3)
    print(f"start {median(starts):.2f} ms; a trial with one exchange {median(shares):.2f} ms CPU, with its client's")


async def memory(peers: dict[str, Peer], exchanges: int) -> None:
    """Print the gateway's memory over many exchanges, in trials of 500."""
    own = peers["gateway"]
    asked = request(SAMPLES[0], stream=True)
    seen = []
    for number in range(1, exchanges // A_TRIAL + 1):
        await load(own.port, asked, at_once=10, each=A_TRIAL // 10)
        own.next_trial()
        if number % max(1, exchanges // A_TRIAL // 8) == 0:
            seen.append(f"{own.memory_mb:.0f}")
    print(f"memory over {exchanges:,} exchanges: {' → '.join(seen)} MB")


async def long(folder: Path) -> None:
    """Print the memory that bodies of 10 and 100 MB take, both ways, and their time."""
    for megabytes in (10, 100):
        with peer("provide_bulk") as to, peer("gateway", to.port, folder / f"long-{megabytes}") as own:
            before, begun = own.memory_mb, time.perf_counter()
            size = (megabytes << 20) // len(BLOCK) * len(BLOCK)
            reader, writer = await asyncio.open_connection("127.0.0.1", own.port)
            writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % size)
            for _ in range(size // len(BLOCK)):
                writer.write(BLOCK)
                await writer.drain()
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            while size:
                size -= len(await reader.read(len(BLOCK)))
            writer.close()
            took = time.perf_counter() - begun
            print(f"{megabytes} MB both ways: {own.most_memory_mb - before:.0f} MB of memory, {took:.1f} s")


async def log(folder: Path, to: Peer) -> None:
    """Print the size of the log of a trial of 200 turns, beside what it may have."""
    messages: list[dict[str, str]] = [{"role": "system", "content": "You are an agent. " * 500}]
    messages.append({"role": "user", "content": PROMPT})
    tools = [{"type": "function", "function": {"name": "bash"}}]
    body = b""
    with peer("gateway", to.port, folder / "log") as own:
        for turn in range(200):
            messages.append({"role": "assistant", "content": f"Step {turn} of the work is at hand."})
            messages.append({"role": "user", "content": f"line {turn * 7919} of some output\n" * 20})
            body = orjson.dumps({"model": MODEL, "messages": messages, "tools": tools}) + b'"stream":  true'
            asked = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
            await load(own.port, asked, at_once=1, each=1)
    responses = 200 * sum(map(len, STREAMS[SAMPLES[0].name]))
    size = sum(path.stat().st_size for path in (folder / "log").rglob("*") if path.is_file())
    print(
        f"log of 200 turns: {size / 1e6:.2f} MB; {size / (3 * len(body) + responses):.2f} of 3 times the last request "
        f"({len(body) / 1e6:.2f} MB) + all responses ({responses / 1e6:.2f} MB)"
    )


PARTS = ("latency", "throughput", "trials", "memory", "long", "log")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="all of them where none is named")
    parser.add_argument("--exchanges", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    parts = options.parts or PARTS
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        direct = stack.enter_context(peer("provide"))
        least = stack.enter_context(peer("pass_through", direct.port))
        for name in ("own", "long-10", "long-100", "log"):
            (folder / name).mkdir()
        own = stack.enter_context(peer("gateway", direct.port, folder / "own"))
        peers = {"direct": direct, "pass-through": least, "gateway": own}
        for to in peers.values():
            await load(to.port, request(SAMPLES[0], stream=True), at_once=4, each=50)
        if "latency" in parts:
            await latency(peers, options.rounds)
        if "throughput" in parts:
            await throughput(peers, options.rounds)
        if "trials" in parts:
            await trials(folder, options.rounds)
        if "memory" in parts:
            await memory(peers, options.exchanges)
        if "long" in parts:
            await long(folder)
        if "log" in parts:
            await log(folder, direct)


if __name__ == "__main__":
    asyncio.run(main())
