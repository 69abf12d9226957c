"""The gateway: passes an agent's model calls on byte for byte, and records them."""
