"""The built-in collectors: what a trial used, as metrics with a unit and a source. The README lists every metric.

A value that is not known is None, never 0.
"""
