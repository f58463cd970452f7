"""Frames that are given are encoded as evaluation encodes stored ones."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import vtr_core
from pipelines.extract.command import extract
from pipelines.extract.flags import ExtractFlags
from tests.builders.small_videos import grey_video
from tests.text.tokens.test_byte_pairs import LINES, PAIRS
from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import row_groups
from vtr_core.data.reading.pictures import picture_rows
from vtr_core.data.shards.word_table import WordTable
from vtr_core.errors import ConfigError, InputError
from vtr_core.nn.embeddings import TEXT, VIDEO
from vtr_core.run.build import build_model
from vtr_core.run.inputs import with_inputs
from vtr_core.run.presets import preset
from vtr_core.storage import locate
from vtr_core.systems.clip4clip.model import Clip4Clip
from vtr_core.systems.clip4clip.rows import embed_clips
from vtr_core.train.checkpoint.files import Checkpoint, Progress, save_checkpoint


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    """Three clips of frames of 40 pixels, whose captions are in CLIP's pieces of words."""
    folder = tmp_path_factory.mktemp("films")
    rows = ["id,caption,video"]
    for number, count in enumerate((12, 3, 7)):
        grey_video(folder / f"{number}.mp4", [k / 4 for k in range(count)], (64, 48))
        rows.append(f"{number},the man's cooking {number},{number}.mp4")
    (folder / "clips.csv").write_text("\n".join(rows))
    (folder / "merges.txt").write_text("#version: 0.2\n" + LINES)
    given = {"records": "frames", "frame_size": 40, "frame_rate": 4.0, "workers": 0}
    merges = str(folder / "merges.txt")
    flags = ExtractFlags(
        str(folder),
        str(folder / "data"),
        str(folder / "clips.csv"),
        clip_merges=merges,
        **given,  # type: ignore[arg-type]
    )
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


def test_captions_are_stored_in_clips_pieces(films: Manifest, model: vtr_core.Model) -> None:
    vocabulary = WordTable.load(films).vocabulary
    (rows,) = picture_rows(films, row_groups(films), 99, 99)
    assert vocabulary.pairs == PAIRS
    assert rows.tokens.tolist() == vocabulary.encode_all(rows.captions, 20).tolist()
    assert vocabulary.words[rows.tokens[0, 0] - 1] == "the</w>"
    inner = model.loaded.model
    assert isinstance(inner, Clip4Clip)
    assert len(inner.clip.token_embedding.weight) == 2 * 256 + len(PAIRS.merges) + 2
    assert model.encode_text("The MAN's xyz").present[TEXT].tolist() == [True]


def test_only_frames_take_the_pieces_of_another_data_set(films: Manifest, tmp_path: Path) -> None:
    folder = Path(films.uri).parent
    flags = ExtractFlags(
        str(folder), str(tmp_path / "out"), str(folder / "clips.csv"), vocabulary=films.uri, workers=0, records="frames"
    )
    (manifest,) = extract(flags).manifests
    assert manifest.vocabulary == films.vocabulary
    with pytest.raises(ConfigError, match="is of CLIP's pieces of words, for --records frames"):
        extract(replace(flags, out=str(tmp_path / "clips"), records="clips"))


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


@pytest.mark.parametrize("changes", [{"records": "clips"}, {"min_count": 2}, {"word_vectors": "vectors.txt"}])
def test_merges_are_for_frames_and_all_of_the_vocabulary(changes: dict[str, object], tmp_path: Path) -> None:
    given = {"records": "frames", "clip_merges": "merges.txt", "workers": 0, "captions": "x.csv", **changes}
    with pytest.raises(ConfigError, match="--clip-merges is all of the vocabulary of --records frames"):
        extract(ExtractFlags(str(tmp_path), str(tmp_path / "out"), **given))  # type: ignore[arg-type]
