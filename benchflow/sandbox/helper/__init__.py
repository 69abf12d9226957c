"""The small process that starts and ends all others, so that BenchFlow itself never forks.

It runs on the standard library alone, without a thread, and knows nothing of the rest of BenchFlow.
"""
