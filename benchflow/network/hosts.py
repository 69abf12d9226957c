"""Which hosts may be reached: names as a manifest writes them, and whether one of them is meant. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

WEB_PORTS = (80, 443)
"""What is meant by a host without a port."""

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_PATTERN = re.compile(rf"(\*\.)?((?:{_LABEL}\.)*{_LABEL}|\[[0-9a-f:.]+\])(?::([0-9]{{1,5}}))?")


@dataclass(frozen=True)
class Host:
    """A host that may be reached."""

    name: str
    """In lower case; an IPv6 address without brackets."""
    below: bool = False
    """All names below it are meant, and not itself."""
    port: int | None = None
    """None: the ports of the web."""

    def is_at(self, name: str, port: int) -> bool:
        """Whether this host is meant by what an agent asks for."""
        ports = WEB_PORTS if self.port is None else (self.port,)
        plain = plain_name(name)
        return port in ports and (plain.endswith("." + self.name) if self.below else plain == self.name)


def read_host(text: str) -> Host:
    """Read `api.example.com`, `api.example.com:8443`, `*.example.com`, or an address. Raises ValueError."""
    match = _PATTERN.fullmatch(text.lower())
    if not match:
        raise ValueError("is no host; write `api.example.com`, `*.example.com` or `api.example.com:8443`")
    below, name, port = match.groups()
    if below and "." not in name:
        raise ValueError("is nearly the whole internet; name at least two labels after `*.`")
    if port is not None and not 0 < int(port) < 65536:
        raise ValueError(f"names the port {port}; ports are 1 to 65535")
    return Host(plain_name(name), below=below is not None, port=None if port is None else int(port))


def may_pass(hosts: Iterable[Host], name: str, port: int) -> bool:
    """Whether one of the hosts is meant."""
    return any(host.is_at(name, port) for host in hosts)


def plain_name(name: str) -> str:
    """Write a host's name so that it can be compared."""
    return name.lower().removeprefix("[").removesuffix("]").removesuffix(".")
