"""From a plan of trials to rows: the order of a trial, the journal, and many trials at once."""
