"""mini: BenchFlow's own small coding agent. It speaks ACP through the official SDK, and knows nothing of BenchFlow."""
