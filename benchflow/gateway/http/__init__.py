"""HTTP/1.1 as the gateway speaks it, both sides: byte for byte, knowing nothing of models."""
