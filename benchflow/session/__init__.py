"""BenchFlow's own ACP client: framing, the JSON-RPC connection, the session, and the events read out of frames."""
