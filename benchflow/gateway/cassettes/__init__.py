"""Recordings of exchanges that can be played again."""
