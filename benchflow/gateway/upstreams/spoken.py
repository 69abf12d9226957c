"""Makes sure, before anything starts, that an upstream is there and speaks a dialect: by the table of providers, or by
one small request that no server takes for work.
"""

import re
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass

from benchflow.errors import InputError
from benchflow.gateway.changing import replace_credentials
from benchflow.gateway.dialects.table import DIALECTS
from benchflow.gateway.http.client import HttpClient, Patience
from benchflow.gateway.http.http11 import ResponseHead
from benchflow.gateway.message import RawRequest, UpstreamCut
from benchflow.gateway.upstreams.forward import Target
from benchflow.gateway.upstreams.opening import OpenedUpstream

PATHS = {
    "openai-completions": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic-messages": "/v1/messages",
    "google-generative-ai": "/v1beta/models/{model}:generateContent",
}
"""Where clients of each dialect send what is to be answered."""
UNSPOKEN = frozenset({404, 405, 501})
"""What servers answer where nothing is served. To a request that says nothing, whoever speaks the dialect answers
something else.
"""
IMPATIENCE = Patience(connect_s=10.0, silence_s=5.0)
SHOWN = 4096
"""Bytes of an answer that are looked at."""
_OF_MODEL = re.compile(rb"\bmodel\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What became of the request that says nothing."""

    url: str
    spoken: bool
    said: str
    """The status, with its words."""

    def __str__(self) -> str:
        return f"POST {self.url} is answered {self.said}"


async def require_spoken(opened: OpenedUpstream, agent: str, dialect: str | None) -> None:
    """Refuse an agent's dialect that the upstream does not speak, and a server that is not there. Raises InputError.

    None: the agent does not say what it speaks.
    """
    target = opened.target
    if target is None:
        return
    if opened.certain:
        if dialect is not None and dialect not in target.base_urls:
            raise InputError(_refusal(agent, dialect, opened.label, target.base_urls))
        return
    asked = await ask(opened, dialect or next(iter(target.base_urls)))
    if dialect is None or asked.spoken:
        return
    others = [name for name in target.base_urls if name != dialect and (await ask(opened, name)).spoken]
    hint = await _better_url(opened, dialect)
    raise InputError(f"{_refusal(agent, dialect, opened.label, others)} ({asked}){hint}")


async def spoken_dialects(opened: OpenedUpstream) -> list[str]:
    """Return the dialects that an upstream speaks. Raises InputError where it is not there, or speaks none."""
    target = opened.target
    if target is None:
        return list(DIALECTS)
    if opened.certain:
        return [name for name in DIALECTS if name in target.base_urls]
    asked = {name: await ask(opened, name) for name in DIALECTS if name in target.base_urls}
    spoken = [name for name, answer in asked.items() if answer.spoken]
    if not spoken:
        tried = ", ".join(map(str, asked.values()))
        hint = await _better_url(opened, next(iter(asked)))
        raise InputError(f"upstream {opened.label}: no known model API is there: {tried}; correct the URL{hint}")
    return spoken


async def ask(opened: OpenedUpstream, name: str, base_url: str | None = None) -> Asked:
    """Send the request that says nothing. Raises InputError where the server cannot be reached.

    A server that is there and does not answer in time gets the benefit of the doubt.
    """
    dialect, target = DIALECTS[name], opened.target
    assert target is not None
    path = PATHS[name].format(model=opened.model or "any")
    route = dialect.route("POST", path)
    assert route is not None
    url = (base_url or target.base_urls[name]).rstrip("/") + route.tail
    headers = (("Content-Type", "application/json"), ("Accept", "application/json"), ("User-Agent", "benchflow"))
    nothing = RawRequest(method="POST", path=path, query="", headers=headers, body=b"{}")
    left: list[bool] = []
    try:
        head, said = await _send(target, url, replace_credentials(nothing, dialect, target.key), left)
    except UpstreamCut as cut:
        if left:
            return Asked(url=url, spoken=True, said=str(cut))
        raise InputError(f"upstream {opened.label}: {cut}; start the server, or correct its URL") from cut
    unknown_model = _OF_MODEL.search(said.replace(route.tail.encode(), b"")) is not None
    spoken = head.status not in UNSPOKEN or unknown_model
    return Asked(url=url, spoken=spoken, said=f"{head.status} {head.reason}".rstrip())


async def _send(target: Target, url: str, request: RawRequest, left: list[bool]) -> tuple[ResponseHead, bytes]:
    """Send a request, and return the head and the beginning of the answer; `left` tells whether it ever left."""
    client = HttpClient(proxy=target.proxy, patience=IMPATIENCE)
    try:
        head, body = await client.send("POST", url, request.headers, request.body, lambda: left.append(True))
        said = b""
        async with aclosing(body):
            async for piece in body:
                said += piece
                if len(said) >= SHOWN:
                    break
        return head, said
    finally:
        await client.aclose()


def _refusal(agent: str, dialect: str, upstream: str, spoken: Iterable[str]) -> str:
    names = ", ".join(spoken)
    remedy = f"it speaks {names}; take an agent that does too, or another upstream" if names else "correct its URL"
    return f"{agent} speaks {dialect}, but the upstream {upstream} does not: {remedy}"


async def _better_url(opened: OpenedUpstream, dialect: str) -> str:
    """Look whether only the version is missing in the URL; return how to say it, or nothing."""
    assert opened.target is not None
    base_path = DIALECTS[dialect].base_path
    given = opened.target.base_urls[dialect].rstrip("/")
    if not base_path or given.endswith(base_path):
        return ""
    found = await ask(opened, dialect, given + base_path)
    return f"; {given + base_path} does: use --upstream {given + base_path}" if found.spoken else ""
