"""Scorers: what turns the outcome of a trial into a verdict."""
