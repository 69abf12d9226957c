"""A try's logs as one stream of events, and what the trace takes from them."""
