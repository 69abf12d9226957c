"""What stands between an agent and the network: a resolver that refuses, a proxy that passes named hosts alone."""
