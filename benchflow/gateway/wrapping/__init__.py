"""What an upstream can be wrapped in for a run: pace, repetitions, faults, a watch on its key."""
