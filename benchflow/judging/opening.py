"""Opens the upstream of the judge that the user named, with a key of its own."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from benchflow.errors import InputError
from benchflow.gateway.upstreams.opening import OpenedUpstream, open_upstream
from benchflow.gateway.upstreams.providers import OWN_KEY, Provider, provider_at, providers
from benchflow.judging.choice import JudgeChoice

JUDGE_KEY = "BENCHFLOW_JUDGE_KEY"
"""The variable with the judge's key, wherever it is asked; without it a provider's own is taken."""
CASSETTE = "cassette:"
SCRIPTED = "script"
"""What a judge is called as a model that is none."""


def open_judge(choice: JudgeChoice, environ: Mapping[str, str]) -> OpenedUpstream:
    """Open the upstream of a judge, with a key that is its own. Raises InputError."""
    upstream, model = choice.upstream, choice.model
    if upstream is not None and upstream.startswith(CASSETTE):
        return _open_cassette(choice, Path(upstream.removeprefix(CASSETTE)))
    if upstream in ("oracle", "null"):
        raise InputError(
            f"--judge-upstream {upstream}: it cannot judge; name a model with --judge-model, or use script:FILE for "
            "verdicts of your own"
        )
    provider = _provider(upstream, model)
    if upstream is None and provider is None:
        known = ", ".join(sorted(providers()))
        raise InputError(
            f"--judge-model {model}: say whose it is, as in `openai/gpt-4.1`; known are {known}; for any other "
            "provider add --judge-upstream with its base URL"
        )
    if upstream is not None and not upstream.startswith("script:"):
        if provider is None and urlsplit(upstream).scheme not in ("http", "https"):
            raise InputError(
                f"--judge-upstream {upstream}: not known; it is the base URL of a compatible server, a provider's name "
                f"({', '.join(sorted(providers()))}), script:FILE or cassette:FILE"
            )
        if not model:
            raise InputError(f"--judge-upstream {upstream}: say with --judge-model which of its models is to judge")
    keys = _keys(provider, environ)
    if provider and provider.key and not keys.get(provider.key):
        raise InputError(
            f"the judge: no key for {provider.name}; set {provider.key}, or {JUDGE_KEY} for the judge alone"
        )
    try:
        opened = open_upstream(upstream, model, keys, default_model=SCRIPTED)
    except InputError as exc:
        raise InputError(f"the judge: {exc}") from exc
    return replace(opened, note=None)


def _open_cassette(choice: JudgeChoice, path: Path) -> OpenedUpstream:
    if choice.model or choice.record:
        raise InputError(
            "--judge-upstream cassette: it says which model judged; leave out --judge-model and --judge-record"
        )
    from benchflow.judging.tape import open_judge_replay

    return open_judge_replay(path)


def _provider(upstream: str | None, model: str | None) -> Provider | None:
    if upstream is None:
        prefix, slash, name = (model or "").partition("/")
        return providers().get(prefix) if slash and name else None
    return providers().get(upstream) or provider_at(upstream)


def _keys(provider: Provider | None, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment as the judge's upstream may see it.

    The key of the agent's own upstream, which could be anybody's server, is not for the judge's.
    """
    own = environ.get(JUDGE_KEY, "").strip()
    keys = {**environ, OWN_KEY: own}
    if own and provider and provider.key:
        keys[provider.key] = own
    return keys
