"""Where a process runs, and what it can see and reach from there."""
