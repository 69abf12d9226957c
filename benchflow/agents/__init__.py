"""Agents that ship with BenchFlow. They run as processes of their own and are launched like any other."""
