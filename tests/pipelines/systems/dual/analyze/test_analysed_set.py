import numpy as np
import pytest
import torch

from pipelines.systems.dual.analysed_set import analysed_set
from vtr_core.errors import CheckpointError, DatasetError
from vtr_core.systems.dual.dual_embeddings import DualRows


def rows(
    text_present=(True, True, False, True, True), video_present=(True, False, True), concepts: int | None = 4
) -> DualRows:
    """Five captions of three videos; every value tells its row."""

    def side(count: int, dim: int) -> np.ndarray:
        return np.arange(1, count + 1, dtype=np.float32)[:, None] + np.arange(dim, dtype=np.float32)

    dims = {"latent": 2} if concepts is None else {"latent": 2, "concept": concepts}

    return DualRows(
        text={name: side(5, dim) for name, dim in dims.items()},
        video={name: side(3, dim) for name, dim in dims.items()},
        caption_video=np.array([0, 1, 0, 2, 2]),
        captions=tuple("abcde"),
        video_id=("x", "y", "z"),
        video_key=np.array([30, 10, 20]),
        caption_key=np.array([5, 6, 7, 8, 9]),
        text_present=np.array(text_present),
        video_present=np.array(video_present),
        ranges=np.zeros((2, 2), np.float32),
        concepts=(),
    )


def test_what_is_absent_is_left_out_and_counted():
    found = analysed_set("toy", rows())
    assert found.text["latent"][:, 0].tolist() == [1, 4, 5]
    assert found.video["latent"][:, 0].tolist() == [1, 3]
    assert found.caption_video.tolist() == [0, 1, 1]
    assert (found.caption_key.tolist(), found.video_key.tolist()) == ([5, 8, 9], [30, 20])
    assert found.left_out == 3
    assert found.latent_scores.shape == (3, 2)
    assert torch.equal(found.concept_space("cosine").text, found.text["concept"])


def test_few_captions_stay_with_their_videos():
    few = analysed_set("toy", rows()).few_captions(1, seed=0)
    assert few.caption_video.tolist() == [0, 1]
    assert few.text["latent"][:, 0].tolist() == [few.caption_key[0] - 4, few.caption_key[1] - 4]
    assert len(few.text["concept"]) == 2


def test_captions_that_another_model_knows():
    first = analysed_set("toy", rows())
    second = analysed_set("toy", rows(text_present=(True, True, True, False, True)))
    assert first.with_captions_of(second).caption_key.tolist() == [5, 9]
    assert second.with_captions_of(first).caption_key.tolist() == [5, 9]
    with pytest.raises(DatasetError, match="same videos"):
        first.with_captions_of(analysed_set("toy", rows(video_present=(True, True, True))))


def test_nothing_to_analyse_and_no_concepts_are_errors():
    with pytest.raises(DatasetError, match="nothing to analyse"):
        analysed_set("toy", rows(text_present=(False,) * 5))
    with pytest.raises(CheckpointError, match="without a concept space"):
        analysed_set("toy", rows(concepts=None)).concept_space("jaccard")
