"""How long the stages of something took."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Measures stages by name, whatever their end."""

    def __init__(self) -> None:
        self.segments: dict[str, float] = {}
        """Milliseconds by stage."""

    @contextmanager
    def timed(self, segment: str) -> Iterator[None]:
        """Measure the block, and add it to what was measured under that name."""
        begun = time.monotonic()
        try:
            yield
        finally:
            took_ms = (time.monotonic() - begun) * 1000
            self.segments[segment] = round(self.segments.get(segment, 0.0) + took_ms, 3)
