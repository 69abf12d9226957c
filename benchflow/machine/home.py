"""Where BenchFlow keeps its own things on a machine: installs, caches, runtimes, manifests, scratch folders."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True)
class Home:
    """The folders of BenchFlow's own. Creates nothing: whoever writes into one of them makes it."""

    root: Path

    @classmethod
    def find(cls, environ: Mapping[str, str]) -> Self:
        """Return `$BENCHFLOW_HOME`, else the user's data folder of this platform."""
        if chosen := environ.get("BENCHFLOW_HOME"):
            return cls(Path(chosen).expanduser().absolute())
        import platformdirs

        return cls(platformdirs.user_data_path("benchflow", appauthor=False))

    @property
    def agents(self) -> Path:
        """The user's manifests, one folder each."""
        return self.root / "agents"

    @property
    def evidence(self) -> Path:
        """What was measured here of agents whose manifests stand elsewhere: `<name>.json`."""
        return self.root / "evidence"

    @property
    def probes(self) -> Path:
        """Logs of the last probe of each agent."""
        return self.root / "probes"

    @property
    def installs(self) -> Path:
        """One folder for each installed agent: `<name>-<key>`."""
        return self.root / "installs"

    @property
    def cache(self) -> Path:
        """Downloads of package managers, shared by all installs."""
        return self.root / "cache"

    @property
    def runtimes(self) -> Path:
        """Language runtimes that BenchFlow fetched because the machine had none that fits."""
        return self.root / "runtimes"

    @property
    def tools(self) -> Path:
        """Programs that installs find first on their PATH."""
        return self.root / "tools"

    @property
    def scratch(self) -> Path:
        """Workspaces, homes and temporary folders of trials, one folder for each run."""
        return self.root / "scratch"
