"""Features have names that readers take for features."""

import pytest

from vtr_core.data.records.schema import check_feature_names
from vtr_core.errors import ConfigError


@pytest.mark.parametrize(
    "name",
    [
        "frames",
        "pixels",
        "tokens",
        "step",
        "replaced",
        "caption",
        "video_id",
        "my_key",
        "has_sound",
        "kept_topic",
        "a-b",
    ],
)
def test_names_that_mean_something_else_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"a feature cannot be called '{name}'"):
        check_feature_names(["video", name])


def test_words_are_names() -> None:
    check_feature_names(["video", "audio", "text", "clip_vit", "key_frames", "swin3d"])
