"""How the model is chosen over ACP."""

from typing import Any

import pytest

from benchflow.session.model import find_offers, model_name, pick_value


@pytest.mark.parametrize(
    ("form", "provider", "name"),
    [
        ("bare", "vendor", "m-1"),
        ("provider/model", "vendor", "vendor/m-1"),
        ("registered-provider/model", "bench", "bench/m-1"),
        ("provider/model", None, "m-1"),
    ],
)
def test_the_model_is_named_as_the_agent_wants_it(form: Any, provider: str | None, name: str) -> None:
    assert model_name("m-1", form, provider) == name
    assert model_name(name, form, provider) == name


def test_the_offered_value_that_means_the_model_is_found() -> None:
    models = {
        "currentModelId": "a",
        "availableModels": [{"modelId": "a", "name": "A"}, {"modelId": "x/m", "name": "M"}],
    }
    (offer,) = find_offers({"models": models, "configOptions": None})

    assert pick_value(offer, "m", "m") == ("x/m", True)
    assert pick_value(offer, "M", "M") == ("x/m", True)
    assert pick_value(offer, "other", "other") == ("other", False)


@pytest.mark.parametrize("session", [{}, {"models": None}, {"models": [], "configOptions": {}}, {"configOptions": [7]}])
def test_a_session_without_models_offers_no_way_to_choose_one(session: dict[str, Any]) -> None:
    assert find_offers(session) == []
