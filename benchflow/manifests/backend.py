"""The manifest's table [backend]: what an agent needs that runs on a backend of its own."""

from pydantic import field_validator

from benchflow.manifests.paths import in_home
from benchflow.model import StrictModel, wrong
from benchflow.network.hosts import Host, read_host


class Backend(StrictModel):
    """An agent's own backend, on which it runs where the user asks for that: its model calls are then not captured."""

    hosts: tuple[str, ...] = ()
    """What it may reach: `api.example.com`, `*.example.com`, either with a port; without one, those of the web."""
    env: tuple[str, ...] = ()
    """Variables of the user's environment that it needs. They are taken for secrets."""
    files: tuple[str, ...] = ()
    """Paths below the user's HOME, copied into the trial's: its login."""

    @field_validator("hosts")
    @classmethod
    def _named(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            try:
                read_host(host)
            except ValueError as exc:
                raise wrong(f"{host!r} {exc}") from exc
        return hosts

    @field_validator("files")
    @classmethod
    def _below_home(cls, files: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(in_home, files))

    @property
    def allowed(self) -> tuple[Host, ...]:
        """What it may reach, to be compared."""
        return tuple(read_host(host) for host in self.hosts)
