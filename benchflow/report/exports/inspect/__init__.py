"""Inspect's `.json` log: one a cell, its trials as samples, a repetition as an epoch."""
