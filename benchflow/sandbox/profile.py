"""What a process sees under bubblewrap, as the options that make it so. Pure but for looking at what the host has.

Mounts go parents first, whatever the order of the binds, so that a folder bound below another, or covered within it, is
not hidden by it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchflow.sandbox.interface import Bind, Inside, LaunchSpec

INSIDE = Inside(workspace="/workspace", home="/home/agent", tmp="/tmp")
USER = "agent"
ID = "1000"
"""User and group inside. Outside, files belong to whoever runs BenchFlow."""

Option = str | dict[str, str]
"""One word of the command line, or `{"text": …}`: the number of a descriptor with this text in it."""

_TOP_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = (
    "alternatives",
    "ca-certificates",
    "crypto-policies",
    "fonts",
    "java*",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "mime.types",
    "pki/ca-trust/extracted",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "protocols",
    "services",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "xml",
)
"""What programs need of the host's configuration. Not `ssl` as a whole, for example: it holds private keys."""
_OPEN_NETWORK_ETC = ("hosts", "resolv.conf")
_WRITTEN_ETC = {
    "passwd": f"root:x:0:0:root:/root:/usr/sbin/nologin\n{USER}:x:{ID}:{ID}:{USER}:{INSIDE.home}:/bin/bash\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "group": f"root:x:0:\n{USER}:x:{ID}:\nnogroup:x:65534:\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
}
_CLOSED_NETWORK_ETC = {
    "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    # Where a socket of ours serves names it is found here; where none does, looking one up fails at once.
    "resolv.conf": "nameserver 127.0.0.1\noptions timeout:2 attempts:1\n",
}
_FOLDERS = ("/etc", "/etc/ssl", "/home", "/run", "/var")
_LINKS = {
    "/etc/os-release": "../usr/lib/os-release",
    "/etc/localtime": "../usr/share/zoneinfo/UTC",
    "/var/tmp": "../tmp",
}


@dataclass(frozen=True, kw_only=True)
class HostSystem:
    """What the host's own system gives to every process. Read once a run."""

    mounts: tuple[Bind, ...]
    links: dict[str, str]
    open_network: tuple[Bind, ...]
    """Added where the host's network is shared."""

    @classmethod
    def read(cls, root: Path = Path("/")) -> HostSystem:
        """Look at the file system below `root`."""
        links, mounts = dict(_LINKS), [Bind(source=root / "usr", target="/usr")]
        for name in _TOP_FOLDERS:
            folder = root / name
            if folder.is_symlink():
                links[f"/{name}"] = os.readlink(folder)
            elif folder.is_dir():
                mounts.append(Bind(source=folder, target=f"/{name}"))
        mounts += _present(root, _ETC)
        return cls(mounts=tuple(mounts), links=links, open_network=tuple(_present(root, _OPEN_NETWORK_ETC)))


def _present(root: Path, names: Iterable[str]) -> Iterator[Bind]:
    for name in names:
        for path in sorted((root / "etc").glob(name)):
            if path.exists() and os.access(path, os.R_OK):
                yield Bind(source=path, target="/" + str(path.relative_to(root)))


def bubblewrap_options(spec: LaunchSpec, system: HostSystem) -> list[Option]:
    """Return the whole profile of one launch."""
    options: list[Option] = ["--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"]
    options += ["--uid", ID, "--gid", ID, "--hostname", "sandbox", "--die-with-parent", "--new-session", "--clearenv"]
    if spec.network == "open":
        options.append("--share-net")
    for name, value in spec.env.items():
        options += ["--setenv", name, value]
    for folder in _FOLDERS:
        options += ["--dir", folder]
    for target, text in system.links.items():
        options += ["--symlink", text, target]
    for name, text in (_WRITTEN_ETC if spec.network == "open" else _WRITTEN_ETC | _CLOSED_NETWORK_ETC).items():
        options += ["--perms", "0444", "--file", {"text": text}, f"/etc/{name}"]
    binds = [*system.mounts, *(system.open_network if spec.network == "open" else ()), *spec.binds]
    covers = list(_covers(binds, spec.covers))
    for mount in sorted([*_mounts(spec, binds), *covers], key=lambda mount: mount.target.count("/")):
        options += [*mount.words, mount.target]
    for cover in covers:
        if cover.words == _EMPTY_FOLDER:
            options += ["--remount-ro", cover.target]
    options += ["--remount-ro", "/", "--chdir", spec.cwd or INSIDE.workspace]
    return options


_EMPTY_FOLDER: tuple[Option, ...] = ("--tmpfs",)
_EMPTY_FILE: tuple[Option, ...] = ("--ro-bind-data", {"text": ""})


class _Mount(NamedTuple):
    target: str
    words: tuple[Option, ...]


def _mounts(spec: LaunchSpec, binds: Iterable[Bind]) -> Iterator[_Mount]:
    yield _Mount("/proc", ("--proc",))
    yield _Mount("/dev", ("--dev",))
    yield _Mount(INSIDE.workspace, ("--bind", str(spec.folders.workspace)))
    yield _Mount(INSIDE.home, ("--bind", str(spec.folders.home)))
    yield _Mount(INSIDE.tmp, ("--bind", str(spec.folders.tmp)))
    for bind in binds:
        yield _Mount(_target(bind), ("--bind" if bind.writable else "--ro-bind", str(bind.source)))


def _target(bind: Bind) -> str:
    return os.path.normpath(bind.target or bind.source.absolute())


def _covers(binds: Iterable[Bind], covered: Iterable[Path]) -> Iterator[_Mount]:
    """Hide each covered folder, or file, wherever a bind shows it. What is bound from within one stays visible."""
    for path in covered:
        hidden = path.resolve()
        for bind in binds:
            source = bind.source.resolve()
            if hidden.is_relative_to(source) and hidden.exists():
                place = os.path.normpath(Path(_target(bind)) / hidden.relative_to(source))
                yield _Mount(place, _EMPTY_FOLDER if hidden.is_dir() else _EMPTY_FILE)
