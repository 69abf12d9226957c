"""What the gateway forwards to: providers, and upstreams of ours that play a model."""
