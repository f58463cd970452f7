"""What a model takes of its data set."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from torch import nn

from tests.builders.toy import toy_dataset, toy_videos
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup
from vtr_core.data.reading.feature_statistics import feature_statistics
from vtr_core.data.reading.row_groups import Columns, RowGroupReader
from vtr_core.errors import DatasetError
from vtr_core.run.inputs import ingest_command, require_features, training_reader, with_inputs
from vtr_core.run.presets import preset
from vtr_core.systems.all import SYSTEMS
from vtr_core.systems.loaded_model import lacking
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.checkpoint.checkpoint_files import Progress
from vtr_core.train.checkpoint.trained_model import LoadedModel


def test_a_modality_can_be_left_out_of_training(tmp_path: Path) -> None:
    manifest = toy_dataset(tmp_path / "d")[0]
    held = {feature.name: feature.dim for feature in manifest.schema.features}
    assert {"video", "audio"} <= held.keys()
    whole = with_inputs(preset("capsule-howto-tiny"), manifest)
    seen = with_inputs(preset("capsule-howto-tiny-video"), manifest)
    assert whole.model.inputs.features == held
    assert seen.model.inputs.features == {"video": held["video"]}
    assert with_inputs(seen, manifest) == seen  # as a resumed run's configuration


def test_training_reads_no_other_features_than_the_model(tmp_path: Path) -> None:
    clips, videos = toy_dataset(tmp_path / "clips")[0], toy_videos(tmp_path / "videos")

    def reader(name: str, manifest: Manifest) -> RowGroupReader:
        return training_reader(with_inputs(preset(name), manifest).model, manifest, 0)

    keys = ["tokens", "clip_key", "video_key", "caption_key"]
    whole = reader("capsule-howto-tiny", clips)
    assert whole.columns == ["video", "has_video", "audio", "has_audio", *keys]
    assert reader("capsule-howto-tiny-video", clips).columns == ["video", "has_video", *keys]
    for name, means in (("muse-msrvtt-tiny", False), ("caption-msrvtt-tiny", False), ("hybrid-msrvtt-tiny", True)):
        found = reader(name, videos)
        assert (found.columns, found.means) == (["video", "tokens", "video_key", "caption_keys"], means)


def test_films_without_sound_are_told_what_to_give(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = toy_dataset(tmp_path / "d")[0]
    config = preset("capsule-howto-tiny")
    require_features(with_inputs(config, manifest), manifest)
    read = RowGroupReader.read

    def silent(reader: RowGroupReader, place: RowGroup) -> Columns:
        columns = read(reader, place)
        return columns | {"has_audio": np.zeros_like(columns["has_audio"])} if "has_audio" in columns else columns

    monkeypatch.setattr(RowGroupReader, "read", silent)
    told = r"no clip has audio, .*; leave it out by --model\.modalities video, or .* by --model\.standardize False"
    with pytest.raises(DatasetError, match=told):
        require_features(with_inputs(config, manifest), manifest)
    for changes in ({"model.modalities": ("video",)}, {"model.standardize": False}):
        taken = with_inputs(override(config, changes), manifest)
        require_features(taken, manifest)
        assert {"video"} <= taken.model.inputs.features.keys()
    found = feature_statistics(manifest, names=("video",))
    assert found.keys() == {"video"}


def test_the_command_that_makes_suitable_data_can_be_typed(tmp_path: Path) -> None:
    """Every flag once, as a shell takes it."""
    source = {"adapter": "synthetic", "records": "videos", "table": "my films/t.csv", "split": "train"}
    command = ingest_command(replace(toy_videos(tmp_path / "d"), source=source), "hybrid-msrvtt")
    assert command == (
        "vtr ingest synthetic --records videos --table 'my films/t.csv' --preset hybrid-msrvtt --out FOLDER"
    )


def test_it_names_the_models_that_have_it_and_what_there_is_for_this_one() -> None:
    loaded = LoadedModel(nn.Identity(), preset("muse-msrvtt"), Vocabulary(()), {}, Progress(), "runs/x", SYSTEMS)
    error = lacking(loaded, "vtr verify", lambda system: system.implementation().decide is not None)
    assert str(error) == (
        "runs/x is of a 'muse' model, for which there are vtr evaluate, vtr index, vtr search and vtr explain; "
        "vtr verify needs one of 'siamese', such as vtr train siamese-att makes"
    )
