"""What a baseline file must look like. Strict: it is ours, and it decides whether a build fails."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, NonNegativeInt

Share = Annotated[float, Field(ge=0, le=1)]
Amount = Annotated[FiniteFloat, Field(ge=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScenarioLine(_Strict):
    """One scenario in a cell: the values of its scored trials, each list sorted by itself."""

    scenario: str
    digest: str
    scored: NonNegativeInt
    unscored: NonNegativeInt
    success: tuple[Literal[0, 1], ...] = ()
    score: tuple[Share, ...] = ()
    wall_ms: tuple[Amount, ...] = ()
    tokens: tuple[Amount, ...] = ()
    cost_usd: tuple[Amount, ...] = ()
    turns: tuple[Amount, ...] = ()
    tool_calls: tuple[Amount, ...] = ()


class CellLines(_Strict):
    """What names a cell, and its scenarios."""

    agent: str
    upstream: str
    model: str
    mode: str
    isolation: str
    scenarios: tuple[ScenarioLine, ...]


class Baseline(_Strict):
    """The whole file."""

    format: Literal["benchflow baseline"]
    version: Literal[1]
    runs: tuple[str, ...]
    cells: tuple[CellLines, ...]
