"""What a session may reach beside the gateway, and what it tried: our resolver, and, for some agents, our proxy."""

import socket
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from benchflow.network.hosts import Host
from benchflow.network.resolver import PORT as RESOLVER_PORT
from benchflow.network.resolver import Resolver
from benchflow.sandbox.interface import Isolation, Network, Sandbox, SocketSpec

if TYPE_CHECKING:
    from benchflow.network.proxy import Proxy

PROXY_PORT = 4140
"""Where the agent finds the proxy, in a sandbox with a loopback of its own."""
_LOCAL = ("localhost", "127.0.0.1", "::1")


def border_sockets(sandbox: Sandbox, network: Network) -> tuple[SocketSpec, ...]:
    """Return the sockets that a session's border is to be served on."""
    resolver = [sandbox.socket("udp", RESOLVER_PORT, network)] if names_are_seen(sandbox.isolation, network) else []
    proxy = [sandbox.socket("tcp", PROXY_PORT, network)] if network == "hosts" else []
    return (*resolver, *proxy)


def names_are_seen(isolation: Isolation, network: Network) -> bool:
    """Whether every host name that a process looks up is looked up with us."""
    return isolation == "bubblewrap" and network in ("gateway", "hosts")


def what_was_watched(isolation: Isolation, network: Network) -> str:
    """Say which hosts could be seen that a process tried to reach, and which could not."""
    if network == "open":
        return "The network was open: nothing was watched."
    if isolation == "process":
        seen = ", but for what it asked of its proxy" if network == "hosts" else ""
        return f"The sandbox `process` shares the machine's network: nothing was watched{seen}."
    return "Host names were watched; addresses that it had as numbers were not."


def proxy_environment(sockets: Iterable[SocketSpec], hosts: Iterable[Host]) -> dict[str, str]:
    """Return the variables by which programs find the proxy, if one of the sockets is for it."""
    port = next((each.port for each in sockets if each.kind == "tcp"), None)
    if port is None:
        return {}
    url = f"http://127.0.0.1:{port}"
    named = {host.name for host in hosts}
    direct = ",".join(name for name in _LOCAL if name not in named)
    lower = {"http_proxy": url, "https_proxy": url, "all_proxy": url, "no_proxy": direct}
    return {**lower, **{name.upper(): value for name, value in lower.items()}, "NODE_USE_ENV_PROXY": "1"}


class Border:
    """The resolver and the proxy of one session. Whoever serves it closes it."""

    def __init__(
        self, isolation: Isolation, network: Network, hosts: Sequence[Host], environ: Mapping[str, str]
    ) -> None:
        """`hosts` may be reached through the proxy; `environ` is the user's environment, which may name another."""
        self._isolation = isolation
        self._network = network
        self._hosts = hosts
        self._environ = environ
        self._resolver: Resolver | None = None
        self._proxy: Proxy | None = None

    async def serve(self, sockets: Iterable[socket.socket]) -> None:
        """Begin to answer on the sockets of `border_sockets`, now open."""
        for each in sockets:
            if each.type == socket.SOCK_DGRAM:
                self._resolver = Resolver()
                self._resolver.open(each)
            else:
                from benchflow.network.proxy import Proxy  # with the gateway alone there is none

                self._proxy = Proxy(self._hosts, self._environ)
                await self._proxy.start(each)

    async def aclose(self) -> None:
        """End both. May be called again."""
        if self._resolver is not None:
            self._resolver.close()
        if self._proxy is not None:
            await self._proxy.aclose()

    @property
    def tried(self) -> frozenset[str]:
        """The hosts that were looked up, or asked of the proxy."""
        names = set(self._resolver.looked_up.sorted()) if self._resolver else set()
        if self._proxy is not None:
            names |= {*self._proxy.passed.sorted(), *self._proxy.refused.sorted()}
        return frozenset(names)

    def facts(self) -> dict[str, Any]:
        """Return what a row says of the network: what was allowed, whether that was enforced, what was tried."""
        network: dict[str, Any] = {"mode": self._network, "enforced": self._isolation == "bubblewrap"}
        if self._proxy is not None:
            network |= {"passed": self._proxy.passed.sorted(), "refused": self._proxy.refused.sorted()}
        return {"network": network, "hosts_looked_up": self._resolver.looked_up.sorted() if self._resolver else None}
