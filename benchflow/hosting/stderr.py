"""An agent's stderr: always drained, so that it never blocks, written to the try's log, its end kept for messages."""

from benchflow.log import LogFile
from benchflow.sandbox.interface import ByteReader

TAIL_BYTES = 2_000
LINE_BYTES = 1 << 20
"""A longer line is written in pieces."""


class StderrLog:
    """Drains one process's stderr into a file of whole lines, so that no secret is cut in two before redaction."""

    def __init__(self, log: LogFile) -> None:
        self._log = log
        self._tail = b""
        self._line = b""

    @property
    def tail(self) -> str:
        """The last of what was written."""
        return (self._tail + self._line)[-TAIL_BYTES:].decode("utf-8", "replace").strip()

    async def drain(self, stderr: ByteReader) -> None:
        """Read to the end of the stream."""
        async for block in stderr:
            lines, newline, rest = (self._line + block).rpartition(b"\n")
            self._line = rest
            if newline:
                self._write(lines + newline)
            elif len(rest) > LINE_BYTES:
                self._line = b""
                self._write(rest)

    def close(self) -> None:
        """Write what came without an end of line, and close the file."""
        if self._line:
            self._write(self._line)
            self._line = b""
        self._log.close()

    def _write(self, lines: bytes) -> None:
        self._tail = (self._tail + lines)[-TAIL_BYTES:]
        self._log.write(lines)
