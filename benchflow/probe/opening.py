"""The steps before an agent works: it shakes hands, opens a session, and takes a model."""

from collections.abc import Sequence

from benchflow.errors import TrialError
from benchflow.gateway.message import Exchange
from benchflow.probe.seen import Seen, failed, odd, passed
from benchflow.probe.subject import Subject, described
from benchflow.session.model import find_offers

TALK = "Reply with one word. Do not use any tool."
NO_CALL = "no model call reached the gateway"
ON_ITS_OWN = "or say --own-backend: it declares a backend of its own"
ROUTE_IT = "point its model calls at $BENCHFLOW_PROVIDER_BASE_URL, by `env_mapping`, `env` or `home_files`"


async def initialize(subject: Subject) -> Seen:
    """Start the agent, and shake hands."""
    await subject.launch()
    info = subject.info = await subject.running.greet()
    if info.name is None and info.version is None:
        return odd("shook hands", "It says neither its name nor its version.")
    return passed(f"shook hands: {info.name or 'no name'} {info.version or 'without a version'}")


async def session(subject: Subject) -> Seen:
    """Open a session."""
    opened = subject.opened = await subject.running.new_session()
    ways = [offer.method for offer in find_offers(opened.raw)]
    return passed(f"opened a session; it offers {' and '.join(ways) or 'no way'} to choose a model", ways=ways)


async def model(subject: Subject) -> Seen:
    """Find out which model arrives on the wire: from the launch alone, then by ACP where it is offered."""
    if subject.on_own_backend:
        return passed(
            "runs on a backend of its own: its model calls do not reach the gateway, nor is its model enforced"
        )
    wanted, upstream = subject.settings.model, subject.settings.upstream
    upstream.take("talk")
    ways = {"launch": await _asked_for(subject, wanted)}
    error = None
    if subject.opened and find_offers(subject.opened.raw):
        choice = await subject.running.choose_model()
        if choice is not None and choice.how not in ("not_offered", "already"):
            error = choice.error
            ways[choice.how] = await _asked_for(subject, wanted)
    facts = {"wanted": wanted, "ways": ways}
    if NO_CALL in ways.values():
        own = subject.settings.equipment.manifest.backend is not None
        return failed(NO_CALL, f"{ROUTE_IT}; {ON_ITS_OWN}" if own else ROUTE_IT, **facts)
    last = list(ways.values())[-1]
    if last != wanted:
        said = f" ({error})" if error else ""
        detail = f"asks for {last} instead of {wanted}{said}; the gateway puts the enforced model in its place"
        return odd(detail, f"It asks for {last} whatever model it is given.", **facts)
    if ways["launch"] != wanted:
        return passed(f"asks for {wanted} once it is set over ACP; from its launch alone for {ways['launch']}", **facts)
    return passed(f"asks for {wanted}, as it was launched with", **facts)


async def _asked_for(subject: Subject, wanted: str) -> str:
    """Prompt for a word, and return the model that the main request named."""
    before = len(subject.exchanges)
    result = await subject.prompt(TALK)
    arrived = subject.exchanges[before:]
    main = [exchange for exchange in arrived if exchange.role == "main"]
    if not main:
        if result.error:
            raise TrialError(result.error_code or "protocol", f"{NO_CALL}; {result.error}")
        return NO_CALL
    return _model_of(main) or wanted


def _model_of(exchanges: Sequence[Exchange]) -> str | None:
    asked = described(exchanges)["models"]
    return ", ".join(asked) or None
