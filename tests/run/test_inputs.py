"""What a model takes of its data set."""

from pathlib import Path

import pytest

from tests.builders.toy import toy_dataset
from vtr_core.config.override import override
from vtr_core.errors import DatasetError
from vtr_core.run.inputs import with_inputs
from vtr_core.run.presets import preset


def test_a_modality_can_be_left_out_of_training(tmp_path: Path) -> None:
    manifest = toy_dataset(tmp_path / "d")[0]
    held = {feature.name: feature.dim for feature in manifest.schema.features}
    assert {"video", "audio"} <= held.keys()
    whole = with_inputs(preset("capsule-howto-tiny"), manifest)
    seen = with_inputs(preset("capsule-howto-tiny-video"), manifest)
    assert whole.model.inputs.features == held
    assert seen.model.inputs.features == {"video": held["video"]}
    assert with_inputs(seen, manifest) == seen  # as a resumed run's configuration


def test_a_modality_that_the_data_lack_is_named(tmp_path: Path) -> None:
    manifest = toy_dataset(tmp_path / "d")[0]
    asked = override(preset("capsule-howto-tiny"), {"model.modalities": ("video", "depth")})
    with pytest.raises(DatasetError, match=r"and no depth, which model\.modalities asks for"):
        with_inputs(asked, manifest)
