"""The page of a registered model fits what the model takes and gives."""

import pytest

from vtr_core.run.presets import preset
from vtr_core.tracking.models.model_folder import model_page


@pytest.mark.parametrize(
    ("name", "given", "asked"),
    [
        ("capsule-howto", '{"caption": ["a man cooks rice"]}))["text"]', "champion --data URI`"),
        ("hybrid-msrvtt", '{"caption": ["a man cooks rice"]}))\n', "champion --data URI`"),
        ("muse-msrvtt", '{"caption": ["a man cooks rice"]}))["text"]', "champion --data URI`"),
        ("siamese-att", '{"pixels": [pixels]}))["encoding"]', "champion --task verification --data URI`"),
        ("caption-msrvtt", '{"video": [frames]}))["caption"]', "champion --task captioning --data URI`"),
    ],
)
def test_it_shows_how_the_model_is_asked_and_evaluated(name: str, given: str, asked: str) -> None:
    page = model_page(preset(name).model, "mine", "champion")
    assert given in page
    assert asked in page
    assert 'load_model("models:/mine@champion")' in page
    assert 'get_model_dependencies("models:/mine@champion")' in page
