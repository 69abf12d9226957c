"""Plugins of BenchFlow that know nothing of it but its contracts."""
