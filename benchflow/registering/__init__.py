"""Adopting an agent: from what a user names to a manifest, its install, its probe, and the evidence that is kept."""
