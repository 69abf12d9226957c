"""What goes through a gateway while it stands: lines for people, a live view on a terminal, JSON for programs."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from benchflow.gateway.message import Exchange, ExchangeBegun
from benchflow.report import numbers
from benchflow.report.exchanges import Totals, describe_exchange, exchange_value, has_roles, heading

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult


class Watch(Protocol):
    """Is told what goes through a gateway."""

    def listening(self, lines: str, value: Mapping[str, Any]) -> None:
        """It can be reached; how, for people and for programs."""
        ...

    def began(self, begun: ExchangeBegun) -> None: ...

    def ended(self, exchange: Exchange) -> None: ...

    def over(self, totals: Totals, lines: str, value: Mapping[str, Any]) -> None:
        """It serves no more."""
        ...


@contextmanager
def open_watch(*, as_json: bool, stream: TextIO | None = None) -> Iterator[Watch]:
    """Show on `stream` (stdout) what goes through a gateway until the block ends."""
    output = stream or sys.stdout
    if as_json:
        yield JsonWatch(output)
    elif not output.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        yield PlainWatch(output)
    else:
        watch = LiveWatch(output)
        try:
            yield watch
        finally:
            watch.close()


class PlainWatch:
    """One line as each exchange ends."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def listening(self, lines: str, value: Mapping[str, Any]) -> None:
        """Print where it is, and the heading."""
        self._print(f"{lines}\n\n{heading(roles=False)}")

    def began(self, begun: ExchangeBegun) -> None:
        """Say nothing: there is nobody to watch."""

    def ended(self, exchange: Exchange) -> None:
        """Print it."""
        self._print(describe_exchange(exchange, roles=False))

    def over(self, totals: Totals, lines: str, value: Mapping[str, Any]) -> None:
        """Print the sums."""
        self._print(f"\n{totals}\n{lines}")

    def _print(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


class JsonWatch:
    """One JSON object a line, each with its `event`."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def listening(self, lines: str, value: Mapping[str, Any]) -> None:
        """Print where it is."""
        self._print("listening", value)

    def began(self, begun: ExchangeBegun) -> None:
        """Say nothing: the end says it all."""

    def ended(self, exchange: Exchange) -> None:
        """Print it."""
        self._print("exchange", exchange_value(exchange))

    def over(self, totals: Totals, lines: str, value: Mapping[str, Any]) -> None:
        """Print the sums."""
        self._print("summary", {**asdict(totals), **value})

    def _print(self, event: str, value: Mapping[str, Any]) -> None:
        import orjson

        from benchflow.report.text import escape_json

        print(escape_json(orjson.dumps({"event": event, **value}).decode()), file=self._stream, flush=True)


def print_exchanges(console: "Console", exchanges: Sequence[Exchange]) -> None:
    """Print a record as a table with its sums."""
    roles = has_roles(exchanges)
    print_line(console, heading(roles=roles), "bold")
    for exchange in sorted(exchanges, key=lambda exchange: exchange.seq):
        print_line(console, describe_exchange(exchange, roles=roles), style_of(exchange))
    totals = Totals()
    for exchange in exchanges:
        totals = totals.plus(exchange)
    console.print(f"\n{totals}", soft_wrap=True)


def style_of(exchange: Exchange) -> str:
    """Return the style of a line: what failed stands out."""
    return "" if exchange.succeeded else "yellow" if exchange.end == "client_gone" else "red"


def print_line(console: "Console", text: str, style: str) -> None:
    """Print a line of a table: cut at a terminal's edge, whole to a program."""
    from rich.text import Text

    if console.is_terminal:
        console.print(Text(text, style), no_wrap=True, overflow="ellipsis")
    else:
        console.print(Text(text), soft_wrap=True)


class LiveWatch:
    """Lines that stay, and below them what is under way and the sums, redrawn four times a second."""

    def __init__(self, stream: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        from rich.console import Console
        from rich.live import Live

        self._now = now
        self._totals = Totals()
        self._under_way: dict[int, float] = {}
        self._console = Console(file=stream, markup=False, highlight=False, emoji=False)
        self._live = Live(self, console=self._console, refresh_per_second=4, transient=True, redirect_stdout=False)

    def listening(self, lines: str, value: Mapping[str, Any]) -> None:
        """Print where it is, and begin."""
        self._console.print(lines, soft_wrap=True)
        print_line(self._console, f"\n{heading(roles=False)}", "bold")
        self._live.start()

    def began(self, begun: ExchangeBegun) -> None:
        """Count it as under way."""
        self._under_way[begun.seq] = self._now()

    def ended(self, exchange: Exchange) -> None:
        """Leave a line above the live view."""
        self._under_way.pop(exchange.seq, None)
        self._totals = self._totals.plus(exchange)
        print_line(self._console, describe_exchange(exchange, roles=False), style_of(exchange))

    def over(self, totals: Totals, lines: str, value: Mapping[str, Any]) -> None:
        """Take the live view away, and print the sums."""
        self.close()
        self._console.print(f"\n{totals}", style="bold", soft_wrap=True)
        self._console.print(lines, soft_wrap=True)

    def close(self) -> None:
        """Give the terminal back; may be called again."""
        self._live.stop()

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.text import Text

        begun = list(self._under_way.values())
        longest = f", the longest for {numbers.duration((self._now() - min(begun)) * 1000)}" if begun else ""
        yield Text(f"\n{self._totals}", "bold", no_wrap=True, overflow="ellipsis")
        yield Text(f"{len(begun)} under way{longest} · ctrl-C ends it", "dim", no_wrap=True, overflow="ellipsis")
