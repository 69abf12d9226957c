"""The gateway alone, for any agent anywhere: opened, served until it is interrupted, summed up, and closed again."""

import ipaddress
import os
import secrets
import socket
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from benchflow.clock import Clock
from benchflow.errors import InputError
from benchflow.gateway.gateway import Gateway, Tap, find_dialect
from benchflow.gateway.guard import Guard
from benchflow.gateway.message import Exchange
from benchflow.gateway.prices import find_own_prices
from benchflow.gateway.upstream import TrialContext
from benchflow.gateway.upstreams.opening import OpenedUpstream, open_upstream
from benchflow.gateway.upstreams.spoken import spoken_dialects
from benchflow.gateway.wrapping.chain import build_chain
from benchflow.gateway.wrapping.limits import Pace
from benchflow.gateway.wrapping.retrying import Retries
from benchflow.redact import Redactor
from benchflow.report.exchanges import Totals
from benchflow.report.exchanges_live import Watch, open_watch
from benchflow.report.terminal import say
from benchflow.runner.folder import make_folder
from benchflow.runner.interrupt import interruptible

if TYPE_CHECKING:
    from benchflow.gateway.wrapping.fault_plan import FaultPlan

KEY_VARIABLE = "BENCHFLOW_GATEWAY_KEY"
"""Has the key that clients must send, where no option does."""
LEAST_KEY = 16
"""Characters of a key that is worth demanding."""
CLIENT_VARIABLES = {
    "openai-completions": "OPENAI_BASE_URL",
    "openai-responses": "OPENAI_BASE_URL",
    "anthropic-messages": "ANTHROPIC_BASE_URL",
    "google-generative-ai": "GOOGLE_GEMINI_BASE_URL",
}
"""From which variable the usual clients of a dialect take its base URL."""


@dataclass(frozen=True, kw_only=True)
class AloneRequest:
    """What a user asked for. The meanings stand in `benchflow gateway --help`."""

    upstream: str | None = None
    model: str | None = None
    host: str = "127.0.0.1"
    port: int = 0
    key: str | None = None
    out: Path = Path("runs")
    strict_model: bool = False
    prices: Path | None = None
    pace: Pace = field(default_factory=Pace)
    retries: Retries = field(default_factory=Retries)
    faults: "FaultPlan | None" = None
    as_json: bool = False


def serve_sync(request: AloneRequest, environ: Mapping[str, str] = os.environ) -> None:
    """Serve until SIGINT or SIGTERM. Raises InputError, before anything listens where that is possible."""
    key = _key_of_clients(request, environ)
    opened = _open(request, environ)
    anyio.run(_serve, request, opened, key, environ)


async def _serve(request: AloneRequest, opened: OpenedUpstream, key: str | None, environ: Mapping[str, str]) -> None:
    prices = find_own_prices(request.prices, environ)
    dialects = await spoken_dialects(opened)
    clock, redactor = Clock(), Redactor([*opened.secrets, *([key] if key else [])])
    chain = build_chain(
        opened.upstream, pace=request.pace, retries=request.retries, faults=request.faults, on_key_refused=say
    )
    async with AsyncExitStack() as stack:
        gateway = await stack.enter_async_context(
            Gateway(chain.upstream, clock=clock, redactor=redactor, strict_model=request.strict_model, prices=prices)
        )
        sock = _listen(request.host, request.port)
        stack.callback(sock.close)
        folder = make_folder(request.out, "gateway")
        watch = stack.enter_context(open_watch(as_json=request.as_json))
        session = _Session(watch)
        tap = await gateway.attach(
            sock,
            TrialContext(trial=folder.name, attempt=1, model=opened.model, alone=True),
            folder,
            dialects,
            guard=lambda recording: Guard(recording, key, session.refused),
            on_begin=watch.began,
            on_exchange=session.ended,
        )
        session.tap = tap
        urls = {name: gateway.base_url(name, _address(request.host, sock)) for name in dialects}
        try:
            _announce(watch, request, opened, urls, folder)
            async with interruptible():
                await session.broken.wait()
        finally:
            with anyio.CancelScope(shield=True):
                await tap.close()
        session.close(folder)
    if tap.failure:
        raise InputError(str(tap.failure))


class _Session:
    """What went through so far."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._totals = Totals()
        self._refused = 0
        self.tap: Tap | None = None
        self.broken = anyio.Event()
        """Nothing can be recorded any more."""

    def ended(self, exchange: Exchange) -> None:
        self._totals = self._totals.plus(exchange)
        self._watch.ended(exchange)
        if self.tap and self.tap.failure:
            self.broken.set()

    def refused(self, reason: str) -> None:
        self._refused += 1
        if self._refused == 1:
            say(f"refused: {reason}; further refusals are only counted")

    def close(self, folder: Path) -> None:
        refused = f"{self._refused} refused at the door\n" if self._refused else ""
        value = {"refused": self._refused, "folder": str(folder)}
        self._watch.over(self._totals, f"{refused}record: {folder} (benchflow show {folder})", value)


def _open(request: AloneRequest, environ: Mapping[str, str]) -> OpenedUpstream:
    if request.upstream is None and request.model is None:
        raise InputError(
            "gateway: say where requests go: --model openai/gpt-4.1, --upstream anthropic, --upstream "
            "http://127.0.0.1:11434/v1, or without any model --upstream null or script:FILE"
        )
    if request.upstream == "oracle":
        raise InputError(
            "--upstream oracle: it plays a scenario's solution, and a gateway alone has no scenario; use script:FILE "
            "for answers of your own, or null"
        )
    if request.strict_model and request.model is None:
        raise InputError("--strict-model: no model was named to be strict about; add --model")
    opened = open_upstream(request.upstream, request.model, environ, any_model=True)
    return opened if request.model else replace(opened, model="")


def _key_of_clients(request: AloneRequest, environ: Mapping[str, str]) -> str | None:
    """Return the key that clients must send; None: there is none. Raises InputError where there must be one."""
    key = (request.key or environ.get(KEY_VARIABLE, "")).strip() or None
    if key is not None and len(key) < LEAST_KEY:
        raise InputError(f"--key: is too short to keep anyone out; use {LEAST_KEY} characters or more")
    if key is None and not _is_loopback(request.host):
        raise InputError(
            f"--host {request.host}: whoever reaches it would spend your key; add a key that clients must send, for "
            f"example --key bf-{secrets.token_hex(16)}, or set {KEY_VARIABLE}"
        )
    return key


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as exc:
        reason = os.strerror(exc.errno) if exc.errno and exc.errno > 0 else exc.strerror
        raise InputError(
            f"{host}:{port}: cannot be listened on ({reason}); name another --host or --port (0 takes a free one)"
        ) from exc


def _address(host: str, sock: socket.socket) -> str:
    """Return host and port as clients have to write them; for all addresses at once, this machine's name."""
    port = sock.getsockname()[1]
    if host in ("0.0.0.0", "::"):
        return f"{socket.gethostname()}:{port}"
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _announce(
    watch: Watch, request: AloneRequest, opened: OpenedUpstream, urls: Mapping[str, str], folder: Path
) -> None:
    model = f"{opened.model}, whatever is asked for" if opened.model else "as it is asked for"
    if opened.model and request.strict_model:
        model = f"{opened.model}, and no other"
    lines = [
        f"upstream: {opened.label}" + (f" with faults {request.faults.text}" if request.faults else ""),
        f"model: {model}",
        f"record: {folder}",
        "",
        *_settings(urls),
    ]
    if _is_loopback(request.host):
        lines.append("# Clients may send any API key: the gateway puts in the real one." if opened.secrets else "")
    else:
        lines.append("# Clients must send the key of --key as their API key.")
    value: dict[str, Any] = {
        "upstream": opened.label,
        "model": opened.model or None,
        "folder": str(folder),
        "base_urls": dict(urls),
        "variables": {CLIENT_VARIABLES[name]: url for name, url in urls.items()},
    }
    watch.listening("\n".join(lines).rstrip(), value)


def _settings(urls: Mapping[str, str]) -> Sequence[str]:
    """Write the variables as a shell takes them, each below the dialects that it is for."""
    lines: dict[str, list[str]] = {}
    for name, url in urls.items():
        lines.setdefault(f"{CLIENT_VARIABLES[find_dialect(name).name]}={url}", []).append(name)
    return [f"# {', '.join(names)}\nexport {setting}" for setting, names in lines.items()]
