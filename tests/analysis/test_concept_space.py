import pytest
import torch

from tests.reference import causality as reference
from vtr_core.analysis.transforms import ConceptSpace, Transform
from vtr_core.errors import DatasetError

COMPARE = {"jaccard": reference.jaccard, "cosine": reference.cosine}


def _space(similarity="jaccard", captions=8, videos=3):
    generator = torch.Generator().manual_seed(1)
    scores = 2 * torch.randn(captions + videos, 6, generator=generator)
    return ConceptSpace(scores[:captions], scores[captions:], torch.arange(captions) % videos, similarity)


@pytest.mark.parametrize("similarity", ["jaccard", "cosine"])
def test_scores_equal_loops(similarity):
    space = _space(similarity)
    change = {"scale": 1.7, "shift": -0.3, "power": 1.4}
    text, video = (
        [[reference.transformed(h, *change.values(), similarity) for h in row] for row in side.tolist()]
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
