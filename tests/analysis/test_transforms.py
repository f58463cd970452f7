"""Transforms of concept scores, spaces of concepts, and the top k."""

import json
import math

import pytest
import torch

from tests.reference import causality as slow_causality
from tests.reference.causality import transformed
from vtr_core.analysis import transforms as top_k
from vtr_core.analysis.transforms import ConceptSpace, Transform, read_transform, top_k_similarity, transform
from vtr_core.errors import ConfigError, DatasetError

SCORES = torch.tensor([[-3.0, -0.4, 0.0], [0.7, 2.5, 8.0]])


@pytest.mark.parametrize("similarity", ["jaccard", "cosine"])
@pytest.mark.parametrize(("scale", "shift", "power"), [(1, 0, 1), (2.9, 0, 1), (1, -0.25, 1.07), (1.5, 0.3, 2.5)])
def test_equals_the_formulas(similarity, scale, shift, power):
    expected = [[transformed(h, scale, shift, power, similarity) for h in row] for row in SCORES.double().tolist()]
    found = transform(SCORES.double(), scale, shift, power, similarity)
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64), rtol=1e-12, atol=0)


def test_one_zero_one_is_the_identity_bit_for_bit():
    generator = torch.Generator().manual_seed(0)
    scores = 10 * torch.randn(50, 40, generator=generator)
    assert torch.equal(transform(scores, 1, 0, 1, "jaccard"), torch.sigmoid(scores))
    assert torch.equal(transform(scores, 1, 0, 1, "cosine"), scores)
    assert Transform("jaccard").is_identity
    assert not Transform("jaccard", power=2.0).is_identity


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["scale", "shift", "power"])
def test_a_parameter_that_is_not_finite_is_refused_by_name(name, value):
    with pytest.raises(ConfigError, match=f"the {name} of a transform is {value}"):
        Transform("jaccard", **{name: value})


@pytest.mark.parametrize("name", ["scale", "power"])
@pytest.mark.parametrize("value", [0.0, -1.0])
def test_scale_and_power_must_be_above_0(name, value):
    with pytest.raises(ConfigError, match="greater than 0"):
        Transform("cosine", **{name: value})


def test_scores_that_would_overflow_in_a_cosine_are_refused():
    with pytest.raises(ConfigError, match="smaller power"):
        transform(torch.tensor([30.0]), 1, 0, 40.0, "cosine")


def test_a_written_transform_is_read_again(tmp_path):
    file = str(tmp_path / "transform.json")
    Transform("jaccard", 2.7, -0.5, 1.0).write(file)
    assert json.loads((tmp_path / "transform.json").read_text()) == {
        "similarity": "jaccard",
        "scale": 2.7,
        "shift": -0.5,
        "power": 1.0,
    }
    assert read_transform(file, "jaccard") == Transform("jaccard", 2.7, -0.5, 1.0)


def test_a_transform_of_the_other_similarity_is_refused(tmp_path):
    Transform("cosine").write(str(tmp_path / "transform.json"))
    with pytest.raises(ConfigError, match="for cosine similarity"):
        read_transform(str(tmp_path / "transform.json"), "jaccard")


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        '{"similarity": "jaccard"}',
        '{"similarity": "dot", "scale": 1, "shift": 0, "power": 1}',
        '{"similarity": "jaccard", "scale": "1", "shift": 0, "power": 1}',
        '{"similarity": "jaccard", "scale": true, "shift": 0, "power": 1}',
        '{"similarity": "jaccard", "scale": NaN, "shift": 0, "power": 1}',
        '{"similarity": "jaccard", "scale": 1, "shift": 0, "power": 0}',
        '{"similarity": "jaccard", "scale": 1, "shift": 0, "power": 1, "more": 2}',
        '{"similarity": "jaccard", "scale": 1' + "0" * 400 + ', "shift": 0, "power": 1}',
    ],
)
def test_a_file_that_is_no_transform_is_named(tmp_path, content):
    (tmp_path / "transform.json").write_text(content)
    with pytest.raises(ConfigError, match=r"transform\.json"):
        read_transform(str(tmp_path / "transform.json"), "jaccard")


COMPARE = {"jaccard": slow_causality.jaccard, "cosine": slow_causality.cosine}


def _space(similarity="jaccard", captions=8, videos=3):
    generator = torch.Generator().manual_seed(1)
    scores = 2 * torch.randn(captions + videos, 6, generator=generator)
    return ConceptSpace(scores[:captions], scores[captions:], torch.arange(captions) % videos, similarity)


@pytest.mark.parametrize("similarity", ["jaccard", "cosine"])
def test_scores_equal_loops(similarity):
    space = _space(similarity)
    change = {"scale": 1.7, "shift": -0.3, "power": 1.4}
    text, video = (
        [[slow_causality.transformed(h, *change.values(), similarity) for h in row] for row in side.tolist()]
        for side in (space.text, space.video)
    )
    expected = torch.tensor([[COMPARE[similarity](s, v) for v in video] for s in text])
    torch.testing.assert_close(space.scores(Transform(similarity, **change)), expected, atol=1e-6, rtol=0)


def test_few_captions_keep_so_many_of_each_video_and_their_videos():
    space = _space(captions=11)
    few = space.few_captions(2, seed=3)
    assert torch.bincount(few.caption_video).tolist() == [2, 2, 2]
    for row, video in zip(few.text, few.caption_video, strict=True):
        place = (space.text == row).all(dim=1).nonzero().item()
        assert space.caption_video[place] == video
    assert torch.equal(few.text, space.few_captions(2, seed=3).text)
    assert not torch.equal(few.text, space.few_captions(2, seed=4).text)
    assert torch.equal(space.few_captions(99, seed=0).text, space.text)


def test_scores_that_are_not_finite_and_empty_sets_are_errors():
    space = _space()
    with pytest.raises(DatasetError, match="text has a concept score"):
        ConceptSpace(space.text / 0, space.video, space.caption_video, "jaccard")
    with pytest.raises(DatasetError, match="8 captions and 0 videos"):
        ConceptSpace(space.text, space.video[:0], space.caption_video, "jaccard")


def _sides(similarity):
    generator = torch.Generator().manual_seed(4)
    scores = torch.randn(9, 8, generator=generator, dtype=torch.float64)
    scores = scores.sigmoid() if similarity == "jaccard" else scores
    return scores[:5], scores[5:]


@pytest.mark.parametrize("similarity", ["jaccard", "cosine"])
def test_equals_loops_across_blocks(similarity, monkeypatch):
    text, video = _sides(similarity)
    monkeypatch.setattr(top_k, "PAIR_BLOCK", 2 * video.numel())
    found = top_k_similarity(text, video, (1, 3, 8, 20), similarity)
    for k, scores in found.items():
        expected = [
            [slow_causality.top_k_similarity(v, s, k, similarity) for v in video.tolist()] for s in text.tolist()
        ]
        torch.testing.assert_close(scores, torch.tensor(expected, dtype=torch.float64), rtol=1e-12, atol=1e-12)


def test_a_pair_that_shares_nothing_scores_0_not_nan():
    zeros = torch.zeros(1, 3)
    for similarity in ("jaccard", "cosine"):
        assert top_k_similarity(zeros, zeros, (2,), similarity)[2].tolist() == [[0.0]]


@pytest.mark.parametrize("ks", [(), (0, 3)])
def test_no_k_or_a_k_below_1_is_an_error(ks):
    with pytest.raises(ConfigError, match="at least 1"):
        top_k_similarity(torch.ones(1, 3), torch.ones(1, 3), ks, "jaccard")
