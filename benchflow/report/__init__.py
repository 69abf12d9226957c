"""What a person is shown of runs: tables, one trial at a time, progress. Reads values, decides nothing."""
