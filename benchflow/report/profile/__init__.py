"""The one model of all figures of a run, or of two: made once, from rows, and printed by every format, to the digit.

| module | what it holds |
|---|---|
| `metrics` | what is measured of a trial, in which unit, and which way is better |
| `estimate` | one figure with its interval |
| `figures` | values: `Profile`, `CellFigures`, `ScenarioFigures` |
| `compared` | values: `Comparison`, `CellComparison`, `MetricComparison` |
| `measured` | what the figures need of a trial, and of all trials of a cell |
| `making` | `make_profile`, `make_comparison` |

Pure: rows in, frozen values out. It knows neither files nor terminals. The values import in no time; `making` needs
numpy where something is repeated or compared.
"""

from benchflow.report.profile.compared import CellComparison, Comparison, MetricComparison
from benchflow.report.profile.estimate import Estimate
from benchflow.report.profile.figures import CellFigures, CellName, Profile, ScenarioFigures

__all__ = [
    "CellComparison",
    "CellFigures",
    "CellName",
    "Comparison",
    "Estimate",
    "MetricComparison",
    "Profile",
    "ScenarioFigures",
]
