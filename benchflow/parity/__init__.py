"""Whether the agent in here is the agent out there: it runs alone and inside of BenchFlow, and both are compared."""
