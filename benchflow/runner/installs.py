"""The installs of a run's agents: each is made once, before its first trial, however many arms wait for it."""

from collections import defaultdict
from collections.abc import Callable, Mapping

import anyio

from benchflow.errors import TrialError
from benchflow.install import Install, ensure_installed, find_install
from benchflow.machine.home import Home
from benchflow.manifest import Manifest
from benchflow.sandbox.process import ProcessSandbox


class Installs:
    """Finds or makes installs; several at once, where they are of several agents."""

    def __init__(self, home: Home, environ: Mapping[str, str], *, reinstall: bool, say: Callable[[str], None]) -> None:
        self._home = home
        self._environ = environ
        self._reinstall = reinstall
        self._say = say
        self._ended: dict[str, Install | TrialError] = {}
        # Each guards the one install of an agent, which the first arm makes and the others wait for.
        self._locks: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)

    async def get(self, agent: Manifest) -> Install:
        """Return the agent's install. Raises InputError, and TrialError(`install`) to every arm that asks."""
        async with self._locks[agent.digest]:
            if agent.digest not in self._ended:
                try:
                    self._ended[agent.digest] = await self._make(agent)
                except TrialError as error:
                    self._ended[agent.digest] = error
        ended = self._ended[agent.digest]
        if isinstance(ended, TrialError):
            raise ended
        return ended

    async def _make(self, agent: Manifest) -> Install:
        """Install the agent, if it is not there yet. An install sees the machine: it may need its compilers."""
        found = None if self._reinstall else find_install(agent, self._home)
        if found:
            return found
        self._say(f"installing {agent.label}; this is done once")
        async with ProcessSandbox() as sandbox:
            install = await ensure_installed(
                agent, home=self._home, sandbox=sandbox, environ=self._environ, reinstall=self._reinstall
            )
        self._say(f"installed {agent.label} in {install.seconds:.1f} s; log: {install.log}")
        return install
