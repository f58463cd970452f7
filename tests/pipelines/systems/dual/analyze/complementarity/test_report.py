from dataclasses import replace

import numpy as np
import pytest
import torch

from pipelines.systems.dual.analysed_set import analysed_set, fused
from pipelines.systems.dual.complementarity import ComplementarityFlags
from pipelines.systems.dual.complementarity_analysis import (
    component_curve,
    correlation_curves,
    fused_figures,
)
from tests.reference.causality import matched_precisions
from tests.reference.spaces import canonical_pairs, projected_cosines
from vtr_core.analysis.transforms import Transform
from vtr_core.embedding.video_ranking import Scoring
from vtr_core.errors import DatasetError
from vtr_core.similarity import cosine, hybrid
from vtr_core.systems.dual.dual_embeddings import DualRows

POLICY = Scoring("hybrid", Transform("jaccard"))


def _set(seed=0, videos=6, per_video=4, latent=True, concept=True):
    generator = torch.Generator().manual_seed(seed)
    captions = videos * per_video
    rows = torch.randn(captions + videos, 5, generator=generator)
    scores = 2 * torch.randn(captions + videos, 7, generator=generator)
    sides = {**({"latent": rows} if latent else {}), **({"concept": scores} if concept else {})}
    return analysed_set(
        "toy",
        DualRows(
            text={space: values[:captions].numpy() for space, values in sides.items()},
            video={space: values[captions:].numpy() for space, values in sides.items()},
            caption_video=np.arange(captions) % videos,
            captions=("",) * captions,
            video_id=tuple(map(str, range(videos))),
            video_key=np.arange(videos),
            caption_key=np.arange(captions),
            text_present=np.ones(captions, bool),
            video_present=np.ones(videos, bool),
        ),
    )


def _flags(**changes):
    return replace(ComplementarityFlags(("c",), "d", "o"), **changes)


def _map(scores, data):
    there, back = matched_precisions(scores.tolist(), data.caption_video.tolist())
    return 50 * (there + back)


def _scores(data):
    return cosine(data.text["latent"], data.video["latent"])


def test_two_latent_spaces_are_fused_with_equal_weights():
    first, second = _set(), _set(1)
    expected = hybrid(_scores(first), _scores(second), 0.5, "matrix")
    found = fused_figures(fused(first.rows, second.rows), replace(POLICY, normalise="matrix"))
    assert found["map"] == pytest.approx(_map(expected, first))


def test_components_of_both_sides_and_the_whole_space_at_the_end():
    data = _set()
    found = component_curve(data, POLICY, most=10)
    assert list(found["map"]) == [1, 2, 3, 4, 5]
    assert list(component_curve(data, POLICY, most=3)["map"]) == [1, 2, 3]
    assert 100 * found["map"][5] == pytest.approx(_map(_scores(data), data))
    assert sum(found["normalised_variances"]) == pytest.approx(1.0)
    samples = torch.cat([data.text["latent"], data.video["latent"].repeat(4, 1)]).numpy()
    for kept in (2, 3):
        text, video = (side["latent"].double().numpy() for side in (data.text, data.video))
        expected = torch.from_numpy(np.asarray(projected_cosines(text, video, samples, kept)))
        assert 100 * found["map"][kept] == pytest.approx(_map(expected, data))


def test_correlations_are_fitted_on_half_of_the_videos():
    data, other = _set(videos=40), _set(1, videos=40)
    first, second = (data.text["latent"], data.video["latent"]), (other.text["latent"], other.video["latent"])
    captions, videos, stacked = correlation_curves(
        first, second, data.caption_video, _flags(ridge=0.01, samples=1000, pairs=9, seed=3)
    )
    assert (captions["side"], captions["samples"]) == ("captions", 80)
    assert (videos["side"], videos["samples"]) == ("videos", 20)
    assert (stacked["side"], stacked["samples"]) == ("stacked", 100)
    order = torch.randperm(40, generator=torch.Generator().manual_seed(3))
    fitted = torch.zeros(40, dtype=torch.bool)
    fitted[order[:20]] = True
    mask = fitted[data.caption_video]
    a, b = first[0].double().numpy(), second[0].double().numpy()
    u, w, expected = canonical_pairs(a[mask], b[mask], 0.01)
    np.testing.assert_allclose(captions["fitted"], expected, atol=1e-8)
    held_out = [np.corrcoef(a[~mask] @ u[:, i], b[~mask] @ w[:, i])[0, 1] for i in range(5)]
    np.testing.assert_allclose(captions["held_out"], held_out, atol=1e-7)


def test_as_many_pairs_as_dimensions_where_they_are_asked_for():
    generator = torch.Generator().manual_seed(0)
    space = torch.randn(600, 260, generator=generator), torch.randn(300, 260, generator=generator)
    for top, expected in ((260, (260, 149, 260)), (200, (200, 149, 200))):
        curves = correlation_curves(space, space, torch.arange(600) % 300, _flags(ridge=0.0, samples=1000, pairs=top))
        assert tuple(len(curve["fitted"]) for curve in curves) == expected


def test_too_few_videos_to_hold_any_out():
    data = _set(videos=3)
    space = data.text["latent"], data.video["latent"]
    with pytest.raises(DatasetError, match="at least 4 videos"):
        correlation_curves(space, space, data.caption_video, _flags())
