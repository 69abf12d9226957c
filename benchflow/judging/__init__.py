"""Judging by rubric: what a judge is shown and asked, what counts as its verdict, and who it is."""
