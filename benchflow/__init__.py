"""BenchFlow evaluates AI agents exactly as they ship: over ACP, in a sandbox, with every model call on record."""

__version__ = "0.1.0"
