"""How an install is done: its environment, its commands, and the runtimes that it and its agent need."""
