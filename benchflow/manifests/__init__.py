"""Where manifests stand and come from, and which files belong to an agent."""
