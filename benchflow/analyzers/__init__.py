"""The built-in analyzers: how an agent worked, judged by rules that their docstrings state. No model is asked.

Each is a pure function over the trace, in linear time. The README lists every finding. What is not known is None.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchflow.contracts import Analyzer


def built_in() -> "list[Analyzer]":
    """Return the analyzers that every run has, in their order."""
    from benchflow.analyzers.efficiency import EfficiencyAnalyzer
    from benchflow.analyzers.error import ErrorAnalyzer
    from benchflow.analyzers.reasoning import ReasoningAnalyzer
    from benchflow.analyzers.strategy import StrategyAnalyzer
    from benchflow.analyzers.tool_pattern import ToolPatternAnalyzer

    return [ReasoningAnalyzer(), StrategyAnalyzer(), EfficiencyAnalyzer(), ToolPatternAnalyzer(), ErrorAnalyzer()]
