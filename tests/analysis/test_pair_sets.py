import torch

from vtr_core.analysis.causality import every_set, random_pairs, top_pairs

SCORES = torch.tensor([[0.1, 0.9, 0.5], [0.8, 0.2, 0.3], [0.4, 0.6, 0.7], [0.5, 0.3, 0.2]])


def _listed(pairs):
    return list(zip(pairs.text.tolist(), pairs.video.tolist(), strict=True))


def test_top_pairs_of_both_directions():
    assert _listed(top_pairs(SCORES, 2, "text_to_video")) == [
        (0, 1), (0, 2), (1, 0), (1, 2), (2, 2), (2, 1), (3, 0), (3, 1),
    ]  # fmt: skip
    assert _listed(top_pairs(SCORES, 2, "video_to_text")) == [(1, 0), (3, 0), (0, 1), (2, 1), (2, 2), (0, 2)]


def test_random_pairs_are_those_of_the_seed_and_reach_everything():
    pairs = random_pairs(3, 4, seed=7, count=500)
    assert set(_listed(pairs)) == {(text, video) for text in range(4) for video in range(3)}
    assert _listed(pairs) == _listed(random_pairs(3, 4, seed=7, count=500))
    assert _listed(pairs) != _listed(random_pairs(3, 4, seed=8, count=500))


def test_the_six_sets_of_the_figure():
    names = [pairs.name for pairs in every_set(SCORES, torch.tensor([1, 0, 2, 0]), seed=0)]
    assert names == [
        "matched",
        "text->video top 1",
        "text->video top 10",
        "video->text top 1",
        "video->text top 10",
        "random",
    ]
