"""BenchFlow's own folders on a machine, the locks on them, and what the machine can do."""
