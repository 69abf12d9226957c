"""What an agent wrote, cut to a line that fits a finding. It is still the agent's text: sanitize it before printing."""


def excerpt(text: str, limit: int) -> str:
    """Return the text on one line, cut to `limit` characters with an ellipsis."""
    line = " ".join(text[: 4 * limit].split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 turn, 2 turns."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
