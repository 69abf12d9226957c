"""What a process under bubblewrap can see and reach: the whole list, so that nothing is added unnoticed."""

import asyncio
import json
import os
import socket
import sys
from contextlib import closing
from pathlib import Path

import pytest
from sandboxes import BOTH, entered, make_folders, make_spec, needs_bubblewrap, outcome, python, read_until, shell

from benchflow.sandbox.interface import Bind, Network

LOOK = """
import ctypes, errno, json, os, pwd, socket, sys

asked = json.loads(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)

def attempt(call, *arguments):
    try:
        return call(*arguments)
    except socket.gaierror as error:
        return "no such name"
    except OSError as error:
        return errno.errorcode[error.errno]

def system_call(name, *arguments):
    return errno.errorcode[ctypes.get_errno()] if getattr(libc, name)(*arguments) else "done"

def connect(family, address):
    with socket.socket(family) as client:
        client.settimeout(10)
        return attempt(client.connect, address)

def write(folder):
    with open(os.path.join(folder, "written"), "w"):
        return "written"

status = dict(line.split(":", 1) for line in open("/proc/self/status") if line.startswith(("Cap", "NoNewPrivs")))
print(json.dumps({
    "environment": sorted(os.environ),
    "identity": [os.getuid(), os.getgid(), pwd.getpwuid(os.getuid()).pw_name, os.uname().nodename, os.getcwd()],
    "capabilities": {name: value.strip().strip("0") for name, value in status.items()},
    "folders": {name: attempt(lambda: sorted(os.listdir(name))) for name in asked["folders"]},
    "exist": [name for name in asked["hidden"] if os.path.lexists(name)],
    "written": {name: attempt(write, name) for name in asked["write"]},
    "processes": sorted(name for name in os.listdir("/proc") if name.isdigit()),
    "signal host": attempt(os.kill, asked["pid"], 0),
    "first process": attempt(lambda: open("/proc/1/environ").read()),
    "profile in sight": "--ro" "-bind" in open("/proc/1/cmdline").read(),
    "shared memory": len(open("/proc/sysvipc/shm").readlines()) - 1,
    "interfaces": [name for _, name in socket.if_nameindex()],
    "host port": connect(socket.AF_INET, ("127.0.0.1", asked["port"])),
    "host abstract socket": connect(socket.AF_UNIX, asked["abstract"]),
    "internet": connect(socket.AF_INET, ("192.0.2.1", 80)),
    "internet 6": connect(socket.AF_INET6, ("2001:db8::1", 80)),
    "name": attempt(socket.getaddrinfo, "example.com", 80),
    "mount": system_call("mount", b"none", b"/tmp", b"tmpfs", 0, None),
    "new user namespace": system_call("unshare", 0x10000000),
    "chroot": system_call("chroot", b"/usr"),
    "change user": attempt(os.setuid, 0),
}))
"""


@needs_bubblewrap
async def test_everything_that_can_be_seen_and_reached(tmp_path: Path) -> None:
    other = make_folders(tmp_path / "other-trial")
    (tmp_path / "trial").mkdir()
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as server,
        closing(socket.socket(socket.AF_UNIX)) as abstract,
    ):
        abstract.bind(f"\0benchflow-test-{os.getpid()}")
        abstract.listen()
        asked = {
            "folders": ["/", "/dev", "/etc/ssl", "/home", "/home/agent", "/run", "/tmp", "/var", "/workspace"],
            "hidden": [
                str(other.workspace),
                str(tmp_path),
                __file__,
                "/sys",
                "/opt",
                "/boot",
                "/etc/shadow",
                "/var/log",
            ],
            "write": ["/", "/usr", "/etc", "/home", "/workspace", "/home/agent", "/tmp"],
            "pid": os.getpid(),
            "port": server.getsockname()[1],
            "abstract": f"\0benchflow-test-{os.getpid()}",
        }
        async with entered("bubblewrap") as sandbox:
            process = await sandbox.start(python(tmp_path / "trial", LOOK, json.dumps(asked)))
            _, stdout, stderr = await outcome(process)

    system = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"} & set(os.listdir("/"))
    prefixes = {Path(sys.prefix), Path(sys.base_prefix)}
    runtime = {prefix.parts[1] for prefix in prefixes}
    assert stderr == ""
    assert json.loads(stdout) == {
        "environment": ["LC_CTYPE", "PATH", "PWD"],  # the first is Python's own doing
        "identity": [1000, 1000, "agent", "sandbox", "/workspace"],
        "capabilities": {"CapInh": "", "CapPrm": "", "CapEff": "", "CapBnd": "", "CapAmb": "", "NoNewPrivs": "1"},
        "folders": {
            "/": sorted({"dev", "etc", "home", "proc", "run", "tmp", "usr", "var", "workspace"} | system | runtime),
            "/dev": [
                *("core", "fd", "full", "null", "ptmx", "pts", "random", "shm"),
                *("stderr", "stdin", "stdout", "tty", "urandom", "zero"),
            ],
            "/etc/ssl": sorted({"cert.pem", "certs", "openssl.cnf"} & set(os.listdir("/etc/ssl"))),
            "/home": ["agent"],
            "/home/agent": [],
            "/run": [],
            "/tmp": sorted(prefix.parts[2] for prefix in prefixes if prefix.parts[1] == "tmp"),
            "/var": ["tmp"],
            "/workspace": [],
        },
        "exist": [],
        "written": {
            **dict.fromkeys(["/", "/usr", "/etc", "/home"], "EROFS"),
            **dict.fromkeys(["/workspace", "/home/agent", "/tmp"], "written"),
        },
        "processes": ["1", "2"],
        "signal host": "ESRCH",
        "first process": "",
        "profile in sight": False,
        "shared memory": 0,
        "interfaces": ["lo"],
        "host port": "ECONNREFUSED",
        "host abstract socket": "ECONNREFUSED",
        "internet": "ENETUNREACH",
        "internet 6": "ENETUNREACH",
        "name": "no such name",
        "mount": "EPERM",
        "new user namespace": "ENOSPC",
        "chroot": "EPERM",
        "change user": "EINVAL",
    }


@needs_bubblewrap
async def test_configuration_of_the_host_stays_outside(tmp_path: Path) -> None:
    async with entered("bubblewrap") as sandbox:
        process = await sandbox.start(shell(tmp_path, "ls /etc; cat /etc/passwd /etc/hosts /etc/resolv.conf"))
        _, stdout, _ = await outcome(process)

    names, _, written = stdout.partition("root:")
    allowed = {
        *("alternatives", "ca-certificates", "crypto-policies", "fonts", "group", "hosts", "ld.so.cache", "ld.so.conf"),
        *("ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "os-release", "passwd", "pki", "protocols"),
        *("resolv.conf", "services", "ssl", "xml"),
    }
    assert {name for name in names.split() if not name.startswith("java")} <= allowed
    assert written == (
        "x:0:0:root:/root:/usr/sbin/nologin\n"
        "agent:x:1000:1000:agent:/home/agent:/bin/bash\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
        "127.0.0.1 localhost sandbox\n::1 localhost\n"
        "nameserver 127.0.0.1\noptions timeout:2 attempts:1\n"
    )


@needs_bubblewrap
async def test_binds_and_covers(tmp_path: Path) -> None:
    shown, kept, link = tmp_path / "shown", tmp_path / "kept", tmp_path / "link"
    for name in ("open", "secret", "secret/deep", "secret/allowed"):
        (shown / name).mkdir(parents=True)
        (shown / name / "file").write_text(name)
    (shown / "secret.toml").write_text("answer")
    kept.mkdir()
    link.symlink_to(shown)
    script = """
        cd "$1" && find . /there -type f | sort | while read f; do echo "$f $(cat $f)"; done
        ls /usr/share | wc -l
        touch new secret/new 2>&1 | grep -c 'Read-only file system'
        touch "$2/new"
    """
    spec = shell(
        tmp_path,
        script,
        str(shown),
        str(kept),
        # Children before parents: the order must not matter.
        binds=(
            Bind(source=shown / "secret/allowed"),
            Bind(source=shown),
            Bind(source=link, target="/there"),
            Bind(source=kept, writable=True),
        ),
        covers=(link / "secret", shown / "secret.toml", Path("/usr/share"), Path("/no/such/folder"), Path("/opt")),
    )
    async with entered("bubblewrap") as sandbox:
        _, stdout, stderr = await outcome(await sandbox.start(spec))

    assert (stdout.splitlines(), stderr, (kept / "new").exists()) == (
        [
            "./open/file open",
            "./secret.toml ",
            "./secret/allowed/file secret/allowed",
            "/there/open/file open",
            "/there/secret.toml ",
            "0",
            "2",
        ],
        "",
        True,
    )


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("network", ["gateway", "open"])
async def test_socket_is_served_from_outside(kind: str, network: Network, tmp_path: Path) -> None:
    async with entered(kind) as sandbox:
        wanted = sandbox.socket("tcp", 0, network)
        script = """exec 3<>/dev/tcp/127.0.0.1/$1; read -r line <&3; echo "got $line"; cat"""
        spec = make_spec(tmp_path, "bash", "-c", script, "bash", str(wanted.port), sockets=(wanted,), network=network)
        process = await sandbox.start(spec)
        (listening,) = process.sockets
        address = listening.getsockname()
        with listening:
            client, _ = await asyncio.get_running_loop().sock_accept(listening)
            with client:
                await asyncio.get_running_loop().sock_sendall(client, b"hello\n")
                said = await read_until(process.stdout, "got hello\n")

    assert (said, address) == ("got hello\n", ("127.0.0.1", wanted.port))


@pytest.mark.parametrize("kind", BOTH)
async def test_datagram_socket_is_served_from_outside(kind: str, tmp_path: Path) -> None:
    async with entered(kind) as sandbox:
        wanted = sandbox.socket("udp", 0, "gateway")
        script = "exec 3<>/dev/udp/127.0.0.1/$1; echo question >&3; head -n 1 <&3"
        spec = make_spec(tmp_path, "bash", "-c", script, "bash", str(wanted.port), sockets=(wanted,))
        process = await sandbox.start(spec)
        (bound,) = process.sockets
        with bound:
            question, asker = await asyncio.get_running_loop().sock_recvfrom(bound, 100)
            await asyncio.get_running_loop().sock_sendto(bound, b"answer\n", asker)
            answer = await outcome(process)

    assert (question, answer) == (b"question\n", (0, "answer\n", ""))


async def test_port_that_is_taken_is_replaced_where_the_loopback_is_shared() -> None:
    async with entered("process") as sandbox:
        first = sandbox.socket("tcp", 0, "gateway")
        second = sandbox.socket("tcp", first.port, "gateway")
        assert first.bound
        assert second.bound
        first.bound.close()
        second.bound.close()

    assert second.port not in (0, first.port)


@needs_bubblewrap
async def test_open_network_is_the_hosts(tmp_path: Path) -> None:
    script = "grep -o '^ *[^ ]*:' /proc/net/dev; cat /etc/hosts"
    async with entered("bubblewrap") as sandbox:
        shown = await outcome(await sandbox.start(shell(tmp_path, script, network="open")))
    async with entered("process") as sandbox:
        real = await outcome(await sandbox.start(shell(tmp_path, script)))

    assert shown == real
