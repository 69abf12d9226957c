"""The manifest's table [bridge]: where an agent works that does not work in the directory of its session."""

from pydantic import field_validator

from benchflow.manifests.paths import in_home
from benchflow.model import StrictModel


class BridgeTable(StrictModel):
    """An agent's own directory: before each prompt it gets what is in the workspace, which gets what was done in it."""

    root: str
    """The directory, relative to the trial's HOME. Absolute paths of the workspace lead to it when taken from it."""
    exclude: tuple[str, ...] = ()
    """What the agent keeps there for itself: paths below it, of files or folders, with `*`."""

    @field_validator("root")
    @classmethod
    def _below_home(cls, root: str) -> str:
        return in_home(root)
