"""How a model is named over ACP, and which of the agent's two ways to choose one is there. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

ModelFormat = Literal["bare", "provider/model", "registered-provider/model"]
"""How an agent wants the name: alone; behind its vendor; behind the name of the provider in its settings."""

How = Literal["config_option", "set_model", "already", "not_offered", "refused"]


@dataclass(frozen=True, kw_only=True)
class ModelChoice:
    """What came of choosing the model over ACP. Only the wire shows whether it holds."""

    how: How
    value: str
    """The name as it was sent, or would have been."""
    listed: bool = False
    """The agent lists it among its models."""
    error: str | None = None
    """What the agent said when it refused."""


@dataclass(frozen=True, kw_only=True)
class ModelOffer:
    """One way to choose the model that a session offers."""

    method: Literal["session/set_config_option", "session/set_model"]
    config_id: str | None
    """The option's id, for the first method."""
    current: str | None
    values: Mapping[str, str]
    """Offered value → the name shown for it."""

    def params(self, session_id: str, value: str) -> dict[str, Any]:
        """Return the request's params."""
        if self.method == "session/set_model":
            return {"sessionId": session_id, "modelId": value}
        return {"sessionId": session_id, "configId": self.config_id, "value": value}


def model_name(model: str, form: ModelFormat, provider: str | None) -> str:
    """Write the model's name. `provider` is the vendor, or for `registered-provider/model` the registered name."""
    if form == "bare" or not provider or model.startswith(f"{provider}/"):
        return model
    return f"{provider}/{model}"


def find_offers(session: Mapping[str, Any]) -> list[ModelOffer]:
    """Return the ways that the result of `session/new` offers, the stable one first."""
    return [*_config_options(session.get("configOptions")), *_models(session.get("models"))]


def pick_value(offer: ModelOffer, name: str, model: str) -> tuple[str, bool]:
    """Return the offered value that means the model, and True; or the name itself, and False."""
    for value, shown in offer.values.items():
        if value == name or shown == name:
            return value, True
    for value in offer.values:
        if value == model or value.endswith(f"/{model}"):
            return value, True
    return name, False


def _config_options(options: Any) -> Iterator[ModelOffer]:
    for option in options if isinstance(options, list) else ():
        if isinstance(option, dict) and option.get("category") == "model" and isinstance(option.get("id"), str):
            yield ModelOffer(
                method="session/set_config_option",
                config_id=option["id"],
                current=option.get("currentValue"),
                values=dict(_select_values(option.get("options"))),
            )


def _select_values(options: Any) -> Iterator[tuple[str, str]]:
    """The values of a select option, which may be in groups."""
    for option in options if isinstance(options, list) else ():
        if not isinstance(option, dict):
            continue
        if isinstance(option.get("value"), str):
            yield option["value"], str(option.get("name"))
        else:
            yield from _select_values(option.get("options"))


def _models(models: Any) -> Iterator[ModelOffer]:
    if not isinstance(models, dict):
        return
    listed = models.get("availableModels")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    yield ModelOffer(
        method="session/set_model",
        config_id=None,
        current=models.get("currentModelId"),
        values={entry["modelId"]: str(entry.get("name")) for entry in entries if isinstance(entry.get("modelId"), str)},
    )
