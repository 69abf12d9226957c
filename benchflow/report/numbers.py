"""How numbers are written for people: short, with their unit, and `?` where they are not known."""

from benchflow.contracts import TokenBreakdown

UNKNOWN = "?"


def count(value: int | None) -> str:
    """Write a count in at most five characters: 999, 9,999, 12.3k, 123k, 1.2M."""
    if value is None:
        return UNKNOWN
    if value < 10_000:
        return f"{value:,}"
    for size, unit in ((1e3, "k"), (1e6, "M"), (1e9, "G")):
        scaled = value / size
        if scaled < 99.95:
            return f"{scaled:.1f}{unit}"
        if scaled < 999.5:
            return f"{scaled:.0f}{unit}"
    return f"{value:.0e}"


def plural(number: int, noun: str) -> str:
    """Write a number with its noun: 1 turn, 2 turns."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def in_out(tokens: TokenBreakdown | None) -> str:
    """Write how many tokens went in, cache reads and writes included, and how many came out."""
    return f"{prompt_tokens(tokens)} in, {count(tokens and tokens.output)} out"


def prompt_tokens(tokens: TokenBreakdown | None) -> str:
    """Write how many tokens went in, cache reads and writes included."""
    return count(tokens.total - tokens.output if tokens else None)


def cost(usd: float | None, *, bought: bool = True) -> str:
    """Write a cost in US dollars. Unknown is `?`, never 0; `-` where no model was asked, so that nothing was bought."""
    if usd is None:
        return UNKNOWN if bought else "-"
    if usd == 0:
        return "$0"
    if usd < 0.00005:
        return "<$0.0001"
    if usd < 0.1:
        return f"${usd:.4f}"
    return f"${usd:.3f}" if usd < 1 else f"${usd:,.2f}"


def duration(ms: float | None) -> str:
    """Write a time in at most six characters: 3ms, 0.12s, 12.3s, 1m02s, 1h02m."""
    if ms is None:
        return UNKNOWN
    if ms < 99.5:
        return f"{ms:.0f}ms"
    seconds = ms / 1000
    if seconds < 9.995:
        return f"{seconds:.2f}s"
    if seconds < 59.95:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02d}s"
    return f"{minutes // 60}h{minutes % 60:02d}m"


def score(value: float | None) -> str:
    """Write a score. None is `-`: unscored is neither 0 nor a pass."""
    return "-" if value is None else f"{value:.2f}"


def size(octets: int) -> str:
    """Write a size in bytes: 512 B, 1.5 kB, 2.0 GB."""
    if octets < 1000:
        return f"{octets} B"
    scaled = float(octets)
    for unit in ("kB", "MB", "GB"):
        scaled /= 1000
        if scaled < 999.95:
            return f"{scaled:.1f} {unit}"
    return f"{scaled / 1000:.1f} TB"
