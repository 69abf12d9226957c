"""What is written down of every exchange, beside the stream and never in it."""
