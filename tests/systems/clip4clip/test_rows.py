"""Frames that are given are encoded as evaluation encodes stored ones."""

from pathlib import Path

import numpy as np
import pytest
import torch

import vtr_core
from pipelines.extract.command import ExtractFlags, extract
from tests.builders.pretrained import save_clip
from tests.builders.small_videos import grey_video
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.stored_rows import picture_rows
from vtr_core.data.records.arrays import as_sequences
from vtr_core.data.records.schema import TOKEN_DTYPE
from vtr_core.data.shards.word_table import WordTable
from vtr_core.errors import ConfigError, InputError
from vtr_core.nn.embeddings import TEXT, VIDEO
from vtr_core.run.build import build_model
from vtr_core.run.inputs import model_vocabulary, training_reader, with_inputs
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.systems.clip4clip.model import load_pretrained
from vtr_core.systems.clip4clip.task import embed_clips, embed_words
from vtr_core.text.tokens.vocabulary import TEXT_BYTES, texts_of
from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, Progress, save_checkpoint


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    """Three clips of frames of 40 pixels."""
    folder = tmp_path_factory.mktemp("films")
    rows = ["id,caption,video"]
    for number, count in enumerate((12, 3, 7)):
        grey_video(folder / f"{number}.mp4", [k / 4 for k in range(count)], (64, 48))
        rows.append(f"{number},the man lifts {number},{number}.mp4")
    (folder / "clips.csv").write_text("\n".join(rows))
    given = {"records": "frames", "frame_size": 40, "frame_rate": 4.0, "workers": 0}
    flags = ExtractFlags(str(folder), str(folder / "data"), str(folder / "clips.csv"), **given)  # type: ignore[arg-type]
    (manifest,) = extract(flags).manifests
    return manifest


@pytest.fixture(scope="module")
def model(films: Manifest, tmp_path_factory: pytest.TempPathFactory) -> vtr_core.Model:
    torch.manual_seed(0)
    config = with_inputs(override(preset("clip4clip-tiny"), {"batch.max_frames": 5}), films)
    state, words = build_model(config.model).state_dict(), WordTable.load(films).vocabulary
    folder = tmp_path_factory.mktemp("checkpoint")
    save_checkpoint(locate(str(folder)), Checkpoint(config, state, {}, Progress(step=1), words))
    return vtr_core.load(str(folder), "cpu")


def test_captions_reach_a_pretrained_encoder_as_texts(films: Manifest, tmp_path: Path) -> None:
    """Words that the data set never had have vectors of their own."""
    save_clip(tmp_path)
    config = with_inputs(override(preset("clip4clip-tiny"), {"model.backbone.source": f"hf:{tmp_path}"}), films)
    inner = build_model(config.model)
    load_pretrained(inner)
    words = model_vocabulary(config.model, WordTable.load(films).vocabulary)
    told = embed_words(inner, config, words, ["the man lifts 0", "a red car", "a red dog", ""])
    stored = embed_clips(inner, config, films, words, row_groups(films))
    assert told[0][0] == pytest.approx(stored.vectors[TEXT][0], abs=1e-6)
    assert np.abs(told[0][1] - told[0][2]).max() > 1e-3
    assert told[1].tolist() == [True, True, True, False]
    assert not told[0][3].any()
    reader = training_reader(config.model, films, 0)
    rows = reader.read_arrow(row_groups(films)[0])
    texts = texts_of(as_sequences(rows["tokens"], TEXT_BYTES, TOKEN_DTYPE).vectors.astype(np.int64))
    assert sorted(texts) == [f"the man lifts {number}" for number in range(3)]


def test_given_frames_have_the_vectors_of_evaluation(films: Manifest, model: vtr_core.Model) -> None:
    loaded, places = model.loaded, row_groups(films)
    stored = embed_clips(loaded.model, loaded.config, films, loaded.vocabulary, places)
    (rows,) = picture_rows(films, places, 99, 99)
    clips = [frames[:kept] for frames, kept in zip(rows.frames, rows.kept, strict=True)]
    assert max(map(len, clips)) > 5 > min(map(len, clips))
    found = model.encode_video([clips[0], None, *clips[1:]])
    assert found.present[VIDEO].tolist() == [True, False, True, True]
    assert not found.vectors[VIDEO][1].any()
    assert found.vectors[VIDEO][[0, 2, 3]] == pytest.approx(stored.vectors[VIDEO], abs=1e-6)
    assert model.encode_video([None]).present[VIDEO].tolist() == [False]


@pytest.mark.parametrize(
    "clip", [np.zeros((2, 40, 40, 3)), np.zeros((40, 40, 3), np.uint8), np.zeros((2, 40, 31, 3), np.uint8), "a.mp4"]
)
def test_other_arrays_are_refused(model: vtr_core.Model, clip: object) -> None:
    with pytest.raises(InputError, match=r"give .*RGB frames"):
        model.encode_video([clip])


@pytest.mark.parametrize("freeze", ["half", -1, 1.5])
def test_what_is_frozen_is_a_number_or_all(freeze: object) -> None:
    with pytest.raises(ConfigError, match="give the number of first layers that are not trained, or all"):
        override(preset("clip4clip-tiny"), {"model.backbone.freeze": freeze})
