"""A model alone, as a session provider: no agent, no tools, one answer to each prompt."""
