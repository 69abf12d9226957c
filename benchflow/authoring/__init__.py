"""For the authors of scenarios: a new one, its solution played without an agent, and the proof that it measures."""
