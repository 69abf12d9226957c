"""The providers that BenchFlow knows by name, from the table beside this file, and how their keys are found."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

from benchflow.errors import InputError
from benchflow.gateway.dialects.dialect import Dialect

_VERSION = re.compile(r"/v\d[0-9a-z]*/?$")
TABLE = Path(__file__).with_name("providers.toml")
OWN_KEY = "BENCHFLOW_UPSTREAM_KEY"
"""The variable with the key of an upstream that is given by its URL and is none of the table's."""


@dataclass(frozen=True, kw_only=True)
class Provider:
    """One row of the table."""

    base_urls: Mapping[str, str]
    """By dialect."""
    key: str | None = None
    """The variable that holds the key; None: it needs none."""
    priced_as: str | None = None
    output_cap: str = "max_tokens"
    """What its chat completions call the most tokens of an answer."""
    name: str = ""


@cache
def providers() -> Mapping[str, Provider]:
    """Return all of them, by the prefix of their models' names."""
    table = tomllib.loads(TABLE.read_text())
    return {name: Provider(name=name, **row) for name, row in table.items()}


def provider_at(url: str) -> Provider | None:
    """Return the provider whose address is in the URL."""
    place = urlsplit(url)[:2]
    for provider in providers().values():
        if any(urlsplit(base)[:2] == place for base in provider.base_urls.values()):
            return provider
    return None


def base_url_at(url: str, dialect: Dialect) -> str:
    """Return a dialect's base URL at a server of which one base URL is given: with the version at its end, as most
    clients want it, or without, for those of a dialect that have it in their paths.
    """
    return url if dialect.base_path else _VERSION.sub("", url)


def key_of(provider: Provider, environ: Mapping[str, str]) -> str | None:
    """Return the provider's key. Raises InputError, naming the variable, where it needs one that is not there."""
    if provider.key is None:
        return None
    key = environ.get(provider.key, "").strip()
    if not key:
        raise InputError(f"{provider.name}: no key; set {provider.key}, or use --upstream oracle, which needs none")
    return key


def key_variable(name: str) -> str:
    """Return the variable that the key of an upstream of this name is taken from."""
    provider = providers().get(name)
    return provider.key if provider and provider.key else OWN_KEY


def proxy_for(url: str, environ: Mapping[str, str]) -> str | None:
    """Return the HTTP proxy that the user's environment names for the URL; None: there is none."""
    place = urlsplit(url)
    name = f"{place.scheme}_proxy"
    proxy = environ.get(name) or environ.get(name.upper())
    bypass = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    local = place.hostname in ("localhost", "127.0.0.1", "::1")
    return None if local or proxy_bypass_environment(place.netloc, {"no": bypass}) else proxy
