"""The kinds of checks that a scenario can have: what is to be true of the outcome. How each is judged: `scorers/`."""

import re
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from benchflow.model import Number, StrictModel, Whole, wrong


def _inside(text: str) -> str:
    path = PurePosixPath(text)
    if path.is_absolute() or ".." in path.parts or "\0" in text or not path.parts:
        raise wrong(f"must be a path inside the folder, with neither a leading `/` nor `..`; it is {text!r}")
    return str(path)


def _regular_expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as exc:
        raise wrong(f"is no regular expression: {exc}") from exc
    return text


Text = Annotated[str, StringConstraints(min_length=1)]
InnerPath = Annotated[str, AfterValidator(_inside)]
"""A path relative to the workspace, or to the scenario's folder, that does not lead out of it."""
Pattern = Annotated[Text, AfterValidator(_regular_expression)]
Weight = Annotated[Number, Field(ge=0)]
Seconds = Annotated[Number, Field(gt=0)]


class CheckModel(StrictModel):
    """What all checks have."""

    id: str = ""
    """Unique in its scenario. Default: the kind and the check's position, `command-2`."""
    description: str = ""
    """What passing means, for people. Default: made from the keys of the check."""
    weight: Weight = 1.0
    """Its share of the score. 0: a guard, which success needs and the score leaves out."""

    def says(self) -> str:
        """Return the description, or one made from the check's own keys."""
        return self.description or self._own_words()

    def _own_words(self) -> str:
        raise NotImplementedError


class Command(CheckModel):
    """A bash line that ends as it should. It runs after the agent is dead, in a sandbox of its own, on a copy of the
    workspace; `$BENCHFLOW_CHECKS` is a copy of the scenario's folder `checks`.
    """

    kind: Literal["command"]
    run: Text
    timeout_s: Seconds = 60.0
    exit_code: Whole = 0
    prints: str | None = None
    """Text that its output (stdout and stderr) must contain. None: anything."""

    def _own_words(self) -> str:
        return f"`{self.run.strip().splitlines()[0]}` ends with {self.exit_code}"


class Reward(CheckModel):
    """A bash line that says itself how much of its weight is earned, as verifiers of other systems do.

    It runs like a command, and writes a number in [0, 1] to the file `$BENCHFLOW_REWARD`, or a JSON object with it as
    its `reward`. 1 passes. Without such a number, whatever its exit code, there is no verdict.
    """

    kind: Literal["reward"]
    run: Text
    timeout_s: Seconds = 60.0

    def _own_words(self) -> str:
        return f"`{self.run.strip().splitlines()[0]}` gives a reward of 1"


class FileExists(CheckModel):
    """A regular file is there."""

    kind: Literal["file_exists"]
    path: InnerPath

    def _own_words(self) -> str:
        return f"{self.path} exists"


class FileContains(CheckModel):
    """A file contains a text."""

    kind: Literal["file_contains"]
    path: InnerPath
    text: Text

    def _own_words(self) -> str:
        return f"{self.path} contains {self.text!r}"


class FileEquals(CheckModel):
    """A file is a given text. How its lines end, and newlines at its end, do not count."""

    kind: Literal["file_equals"]
    path: InnerPath
    text: str | None = None
    file: InnerPath | None = None
    """The text is that of this file in the scenario's folder `checks`."""

    @model_validator(mode="after")
    def _text_or_file(self) -> "FileEquals":
        if (self.text is None) == (self.file is None):
            raise wrong("give either `text` or `file`")
        return self

    def _own_words(self) -> str:
        return f"{self.path} is as expected"


class JsonPath(CheckModel):
    """A value in a JSON file is what it should be."""

    kind: Literal["json_path"]
    path: InnerPath
    query: str
    """Where the value is: `orders[0].total`, `["a key"].x`; empty: the whole document."""
    equals: Any
    """The value, compared as JSON: 1 equals 1.0, and never true."""

    @model_validator(mode="after")
    def _query_is_readable(self) -> "JsonPath":
        query_parts(self.query)
        return self

    def _own_words(self) -> str:
        return f"{self.query or 'the document'} in {self.path} is {self.equals!r}"


class Unchanged(CheckModel):
    """Files are as the agent found them: none changed, added or removed. A guard: its weight is 0 unless given."""

    kind: Literal["unchanged"]
    paths: tuple[InnerPath, ...] = Field(min_length=1)
    """Files, folders (everything below), or patterns with `*`."""
    weight: Weight = 0.0

    def _own_words(self) -> str:
        return f"{', '.join(self.paths)}: unchanged"


class OutputContains(CheckModel):
    """What the agent said contains a text, in any case of letters."""

    kind: Literal["output_contains"]
    text: Text

    def _own_words(self) -> str:
        return f"the answer contains {self.text!r}"


class OutputMatches(CheckModel):
    """A regular expression is found in what the agent said. `^` and `$` match at lines."""

    kind: Literal["output_matches"]
    pattern: Pattern

    def _own_words(self) -> str:
        return f"the answer matches {self.pattern!r}"


class ToolUsed(CheckModel):
    """The agent called a tool."""

    kind: Literal["tool_used"]
    tool: Text
    """The tool's name, or ACP's kind of tool (`execute`, `edit`, ...), in any case of letters."""

    def _own_words(self) -> str:
        return f"the tool {self.tool} was used"


class ToolNotUsed(CheckModel):
    """The agent never called a tool."""

    kind: Literal["tool_not_used"]
    tool: Text

    def _own_words(self) -> str:
        return f"the tool {self.tool} was not used"


class RubricCheck(CheckModel):
    """A judge's verdict on the scenario's `[rubric]`."""

    kind: Literal["rubric"]
    criterion: str | None = None
    """Id of the one criterion that this check is about. None: all of them."""

    def _own_words(self) -> str:
        return f"the judge is satisfied with {self.criterion or 'every criterion'}"


Check = Annotated[
    Command
    | Reward
    | FileExists
    | FileContains
    | FileEquals
    | JsonPath
    | Unchanged
    | OutputContains
    | OutputMatches
    | ToolUsed
    | ToolNotUsed
    | RubricCheck,
    Field(discriminator="kind"),
]

_QUERY_PART = re.compile(r"""\.?([A-Za-z_][\w-]*)|\[(-?\d+)\]|\["([^"]*)"\]""")


def query_parts(query: str) -> tuple[str | int, ...]:
    """Split `a.b[0]["c d"]` into keys and positions; a leading `$` is allowed. Raises ValueError for anything else."""
    parts: list[str | int] = []
    at = 1 if query.startswith("$") else 0
    while at < len(query):
        match = _QUERY_PART.match(query, at)
        if match is None:
            raise wrong(f"query {query!r} cannot be read from {query[at:]!r} on; write it like `orders[0].total`")
        name, position, quoted = match.groups()
        parts.append(int(position) if position is not None else name if name is not None else quoted)
        at = match.end()
    return tuple(parts)
