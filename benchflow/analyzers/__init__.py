"""The built-in analyzers: how an agent worked, judged by rules that their docstrings state. No model is asked.

Each is a pure function over the trace, in linear time. The README lists every finding. What is not known is None.
"""
