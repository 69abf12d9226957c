"""The arms of a run: every agent with every model in every mode, each with the upstream that answers it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from benchflow.errors import InputError
from benchflow.gateway.upstreams.opening import GENERIC_PROVIDER, OpenedUpstream, open_upstream
from benchflow.hosting.backend import OWN_BACKEND, OWN_CHOICE, NoUpstream, OwnBackend, read_backend, require_gateway
from benchflow.hosting.launch import required_values
from benchflow.hosting.modes import require_fit
from benchflow.manifest import Manifest
from benchflow.mode import Mode
from benchflow.runner.arm import Arm
from benchflow.runner.plan import ArmName
from benchflow.runner.plugged import PluggedAgent
from benchflow.runner.request import RunRequest
from benchflow.scenario import Scenario


def look_up_arms(
    request: RunRequest,
    agents: Sequence[Manifest | PluggedAgent],
    modes: Sequence[Mode],
    scenarios: Sequence[Scenario],
    environ: Mapping[str, str],
) -> tuple[list[Arm], list[str]]:
    """Return the arms in order, and the secrets that they bring. Raises InputError for what is not there.

    A mode with a model of its own is one arm of an agent, however many models the run asks.
    """
    finder = _Finder(request, scenarios, environ)
    arms: dict[ArmName, Arm] = {}
    for agent in agents:
        for mode in modes:
            for model in (mode.model,) if mode.model else request.models or (None,):
                arm = finder.arm(agent, model, mode)
                arms.setdefault(arm.name, arm)
    found = list(arms.values())
    if len(found) > 1 and (request.record or request.replay):
        option = "--record" if request.record else "--replay"
        raise InputError(
            f"{option}: a cassette holds what one agent with one model in one mode asked, and this run compares "
            f"{len(found)}; run them one by one, each with a cassette of its own"
        )
    return found, [*finder.secrets, *(secret for mode in modes for secret in mode.secrets)]


class _Finder:
    """Opens each upstream once, and gathers what is secret."""

    def __init__(self, request: RunRequest, scenarios: Sequence[Scenario], environ: Mapping[str, str]) -> None:
        self._request = request
        self._scenarios = scenarios
        self._environ = environ
        self._opened: dict[str, OpenedUpstream] = {}
        self.secrets: list[str] = []

    def arm(self, agent: Manifest | PluggedAgent, model: str | None, mode: Mode) -> Arm:
        """Look one arm up. Raises InputError."""
        if isinstance(agent, PluggedAgent):
            return self._plugged(agent, model, mode)
        require_fit(mode, agent)
        request = self._request
        backend = read_backend(agent, self._environ, model=model) if request.own_backend else None
        if backend is None:
            require_gateway(agent)
        own = list(required_values(backend.manifest if backend else agent, self._environ).values())
        if backend:
            own += backend.secrets()
        upstream = self._share(_no_upstream(backend) if backend else self._open(agent, model, own))
        self.secrets += [*own, *upstream.secrets]
        return Arm(
            agent=agent,
            upstream=upstream,
            upstream_label=self._label(upstream),
            mode=mode,
            require_capture=self._requires_capture(agent, backend),
            backend=backend,
        )

    def _plugged(self, agent: PluggedAgent, model: str | None, mode: Mode) -> Arm:
        """Look up the arm of a provider of the user's. Raises InputError."""
        _require_able(agent, mode)
        request = self._request
        if not agent.asks_gateway:
            request.require_no_gateway("--provider", f"the provider {agent.place} asks its model by itself")
            label = f"provider:{agent.name}"
            upstream = OpenedUpstream(
                upstream=NoUpstream(), model=model or OWN_CHOICE, label=label, provider=GENERIC_PROVIDER
            )
            return Arm(agent=agent, upstream=upstream, upstream_label=label, mode=mode, require_capture=False)
        if request.own_backend:
            raise InputError(f"--own-backend: the provider {agent.place} has none; leave it out")
        by_oracle = request.upstream == "oracle" or not (request.upstream or model or request.replay)
        if by_oracle and "tools" not in agent.capabilities:
            raise InputError(
                f"--provider {agent.place}: it offers its model no tools, and the oracle plays through tools; name a "
                "model with --model, or play answers of your own with --upstream script:FILE"
            )
        upstream = self._share(self._open(agent, model, ()))
        self.secrets += upstream.secrets
        return Arm(
            agent=agent,
            upstream=upstream,
            upstream_label=self._label(upstream),
            mode=mode,
            require_capture=True if request.require_capture is None else request.require_capture,
        )

    def _label(self, upstream: OpenedUpstream) -> str:
        faults = self._request.faults
        return f"{upstream.label} with faults {faults.text}" if faults else upstream.label

    def _open(self, agent: Manifest | PluggedAgent, model: str | None, own: Sequence[str]) -> OpenedUpstream:
        request = self._request
        if request.replay:
            from benchflow.runner.tape import open_replay

            return open_replay(request.replay, agent, self._scenarios, request.most_repetitions, own)
        return open_upstream(request.upstream, model, self._environ, default_model=agent.default_model)

    def _share(self, opened: OpenedUpstream) -> OpenedUpstream:
        """Let all that asks one provider go one way, so that its limits and its key are watched in one place."""
        first = self._opened.setdefault(opened.label, opened)
        return replace(opened, upstream=first.upstream)

    def _requires_capture(self, agent: Manifest, backend: OwnBackend | None) -> bool:
        if backend:
            return False
        asked = self._request.require_capture
        return agent.api_protocol is not None if asked is None else asked


def _require_able(agent: PluggedAgent, mode: Mode) -> None:
    """Refuse a mode that would not reach what a provider runs. Raises InputError."""
    lacking = [
        what
        for what, wanted, able in (
            ("mcp_servers", mode.mcp_servers, "mcp" in agent.capabilities),
            ("skills", mode.skills, False),
            ('instructions_as = "file"', mode.instructions and mode.instructions_as == "file", False),
        )
        if wanted and not able
    ]
    if lacking:
        raise InputError(f"the mode {mode.name} cannot be used with the provider {agent.place}: {', '.join(lacking)}")


def _no_upstream(backend: OwnBackend) -> OpenedUpstream:
    asked = f"it is asked to take the model {backend.model}" if backend.model else "it chooses its model itself"
    return OpenedUpstream(
        upstream=NoUpstream(),
        model=backend.model or OWN_CHOICE,
        label=OWN_BACKEND,
        provider=GENERIC_PROVIDER,
        note=f"own backend: the agent's model calls are not captured, and its model is not enforced; {asked}",
    )
