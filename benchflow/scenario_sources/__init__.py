"""Scenarios from the world: git repositories at a commit. Nothing of what is fetched is ever run here."""
