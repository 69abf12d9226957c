"""Which upstream a run uses: from what the user said to an open upstream and what must be known of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from benchflow.errors import InputError
from benchflow.gateway.upstream import Upstream
from benchflow.gateway.upstreams.forward import Forward, Target

if TYPE_CHECKING:
    from benchflow.gateway.upstreams.providers import Provider

PLAYED_MODEL = "gpt-4.1"
"""The model's name that agents are given where no model answers: a real one, for their tools may depend on it."""
GENERIC_PROVIDER = "openai"
"""What stands before a model's name, for agents that want something there, where it is no provider of the table."""
NO_MODEL = (
    "upstream: the oracle, not a model: it plays each scenario's own solution; name a model with --model, or say "
    "--upstream oracle"
)


@dataclass(frozen=True, kw_only=True)
class OpenedUpstream:
    """An upstream, and what the run must know of it. Whoever runs the gateway on it closes it."""

    upstream: Upstream
    model: str
    """The name that main requests must carry; empty: whatever they ask for."""
    label: str
    """Name and settings, as rows have it: `oracle`, `script:answers.json`, `openai`, `http://127.0.0.1:8000/v1`."""
    provider: str
    """What stands before the model's name, for agents that want something there."""
    target: Target | None = None
    """Where requests are sent on to; None: nowhere."""
    certain: bool = True
    """The target is known to speak the dialects that it has base URLs for; else it must be asked."""
    secrets: tuple[str, ...] = ()
    note: str | None = None
    """What the user should be told before anything starts."""
    misses: Sequence[str] = ()
    """What the user should be told at the end: what a cassette was asked for and does not have."""


def open_upstream(
    text: str | None,
    model: str | None,
    environ: Mapping[str, str],
    *,
    default_model: str | None = None,
    any_model: bool = False,
) -> OpenedUpstream:
    """Open what `--upstream` and `--model` ask for; without either it is the oracle, and the note says so.

    `default_model` is the agent's, for upstreams that are no model. With `any_model` a provider may be opened without
    naming one of its models. Raises InputError for what is unknown, and for a key that is missing.
    """
    if text is None and model is None:
        return _played("oracle", None, default_model, note=NO_MODEL)
    if text is None:
        return _of_model(model or "", environ)
    if text in ("oracle", "null") or text.startswith("script:"):
        return _played(text, model, default_model)
    from benchflow.gateway.upstreams.providers import providers

    is_url = urlsplit(text).scheme in ("http", "https")
    if (is_url or text in providers()) and not model and not any_model:
        raise InputError(f"--upstream {text}: say with --model which of its models to use")
    if is_url:
        return _at_url(text, model or "", environ)
    if text in providers():
        return _of_provider(providers()[text], model or "", environ)
    raise InputError(
        f"--upstream {text!r}: not known; it is one of oracle, null, script:FILE, or the base URL of a provider "
        f"(http://127.0.0.1:8000/v1) or its name ({', '.join(sorted(providers()))})"
    )


def _played(text: str, model: str | None, default_model: str | None, note: str | None = None) -> OpenedUpstream:
    return OpenedUpstream(
        upstream=_player(text),
        model=model or default_model or PLAYED_MODEL,
        label=text,
        provider=GENERIC_PROVIDER,
        note=note,
    )


def _player(text: str) -> Upstream:
    if text == "oracle":
        from benchflow.gateway.upstreams.oracle import Oracle

        return Oracle()
    if text == "null":
        from benchflow.gateway.upstreams.null import Null

        return Null()
    from benchflow.gateway.upstreams.script import Script, read_script

    return Script(read_script(Path(text.partition(":")[2])))


def _of_model(model: str, environ: Mapping[str, str]) -> OpenedUpstream:
    from benchflow.gateway.upstreams.providers import providers

    prefix, slash, name = model.partition("/")
    provider = providers().get(prefix)
    if provider is None or not slash or not name:
        raise InputError(
            f"--model {model!r}: say whose it is, as in `openai/gpt-4.1`; known are {', '.join(sorted(providers()))}; "
            "for any other provider add --upstream with its base URL"
        )
    return _of_provider(provider, name, environ)


def _of_provider(provider: "Provider", model: str, environ: Mapping[str, str]) -> OpenedUpstream:
    from benchflow.gateway.upstreams.providers import key_of, proxy_for

    key = key_of(provider, environ)
    target = Target(
        name=provider.name,
        base_urls=provider.base_urls,
        key=key,
        priced_as=provider.priced_as,
        proxy=proxy_for(next(iter(provider.base_urls.values())), environ),
    )
    return OpenedUpstream(
        upstream=Forward(target),
        model=model,
        label=provider.name,
        provider=provider.name,
        target=target,
        certain=provider.key is not None,
        secrets=(key,) if key else (),
    )


def _at_url(url: str, model: str, environ: Mapping[str, str]) -> OpenedUpstream:
    from benchflow.gateway.dialects.table import DIALECTS
    from benchflow.gateway.upstreams.providers import OWN_KEY, base_url_at, key_of, provider_at, proxy_for

    if not urlsplit(url).hostname:
        raise InputError(f"--upstream {url}: not a URL; give a base URL as in http://127.0.0.1:8000/v1")
    known = provider_at(url)
    key = key_of(known, environ) if known and known.key else environ.get(OWN_KEY, "").strip() or None
    listed = known is not None and url.rstrip("/") in known.base_urls.values()
    guessed = {name: base_url_at(url, dialect) for name, dialect in DIALECTS.items()}
    target = Target(
        name=known.name if known else urlsplit(url).netloc,
        base_urls=known.base_urls if known and listed else guessed,
        key=key,
        priced_as=known.priced_as if known else None,
        proxy=proxy_for(url, environ),
    )
    return OpenedUpstream(
        upstream=Forward(target),
        model=model,
        label=url,
        provider=known.name if known else GENERIC_PROVIDER,
        target=target,
        certain=listed and known is not None and known.key is not None,
        secrets=(key,) if key else (),
    )
