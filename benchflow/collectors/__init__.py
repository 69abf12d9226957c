"""The built-in collectors: what a trial used, as metrics with a unit and a source. The README lists every metric.

A value that is not known is None, never 0.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchflow.contracts import Collector


def built_in() -> "list[Collector]":
    """Return the collectors that every run has, in their order."""
    from benchflow.collectors.cost import CostCollector
    from benchflow.collectors.latency import LatencyCollector
    from benchflow.collectors.token import TokenCollector
    from benchflow.collectors.tool_call import ToolCallCollector

    return [TokenCollector(), LatencyCollector(), CostCollector(), ToolCallCollector()]
