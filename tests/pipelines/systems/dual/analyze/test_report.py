"""What `vtr analyze causality` and `complementarity` compute, against slow code."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from pipelines.systems.dual.analysed_set import AnalysedSet, analysed_set, fused
from pipelines.systems.dual.causality_analysis import (
    curves_by_set,
    detector_values,
    inferences,
    shift_curve,
    swept,
    top_k_precision,
)
from pipelines.systems.dual.complementarity import ComplementarityFlags
from pipelines.systems.dual.complementarity_analysis import (
    component_curve,
    correlation_curves,
    fused_figures,
)
from tests.reference import causality as reference
from tests.reference.calibration import tag_precision as reference_precision
from tests.reference.causality import matched_precisions
from tests.reference.spaces import canonical_pairs, projected_cosines
from vtr_core.analysis.transforms import Transform
from vtr_core.data.concepts.concept_table import ConceptCounts, ConceptTable, CountedSet, TableHead
from vtr_core.embedding.video_ranking import Scoring
from vtr_core.errors import DatasetError
from vtr_core.similarity import cosine, hybrid
from vtr_core.systems.dual.dual_embeddings import DualRows
from vtr_core.systems.dual.evaluation import mean_precision

BEST = Transform("jaccard", 2.0, 0.5, 1.5)


def _set(seed: int = 0, videos: int = 4, per_video: int = 3, latent: bool = True) -> AnalysedSet:
    generator, captions = torch.Generator().manual_seed(seed), videos * per_video
    rows = torch.randn(captions + videos, 5, generator=generator)
    scores = 2 * torch.randn(captions + videos, 12, generator=generator)
    sides = {**({"latent": rows} if latent else {}), "concept": scores}
    return analysed_set(
        "toy",
        DualRows(
            text={space: values[:captions].numpy() for space, values in sides.items()},
            video={space: values[captions:].numpy() for space, values in sides.items()},
            caption_video=np.arange(captions) % videos,
            captions=("",) * captions,
            video_id=tuple(map(str, range(videos))),
            video_key=np.array([7, 3, 5, 9, *range(10, 10 + videos)])[:videos],
            caption_key=np.arange(captions),
            text_present=np.ones(captions, bool),
            video_present=np.ones(videos, bool),
        ),
    )


def test_inferences_are_the_rows_of_the_table():
    data = _set()
    space = data.concept_space("jaccard")
    policy = Scoring("hybrid", Transform("jaccard"), normalise="matrix")
    found = inferences(data, space, {"original": space.identity, "improved": BEST}, policy)
    assert list(found) == ["hybrid, original", "hybrid, improved", "concepts, original", "concepts, improved"]
    both = hybrid(cosine(data.text["latent"], data.video["latent"]), space.scores(BEST), 0.6, "matrix")
    precisions = reference.matched_precisions(both.tolist(), data.caption_video.tolist())
    improved = found["hybrid, improved"]["figures"]
    assert improved["map"] == pytest.approx(50 * sum(precisions))
    text, video = BEST.apply(space.text).tolist(), BEST.apply(space.video).tolist()
    values = [reference.causality_at_k(video[v], text[i], 10, "jaccard") for i, v in enumerate(data.caption_video)]
    assert found["concepts, improved"]["figures"]["c10"] == pytest.approx(100 * np.mean(values), rel=1e-5)
    assert improved["c10"] == pytest.approx(40 * np.mean(values), rel=1e-5)
    alone = _set(latent=False)
    assert list(inferences(alone, alone.concept_space("jaccard"), {"enough": BEST}, policy)) == ["concepts, enough"]


def test_matched_pairs_are_among_the_sets():
    space = _set().concept_space("jaccard")
    found = curves_by_set(space, BEST, seed=0)
    assert found["matched"]["num_pairs"] == 12
    assert found["text->video top 1"]["num_pairs"] == 12
    assert found["video->text top 10"]["num_pairs"] == 40


def test_top_k_precision_of_all_captions_and_of_some():
    space = _set().concept_space("jaccard")
    found = top_k_precision(space, BEST, (2, 12), captions=12, seed=0)
    text, video = BEST.apply(space.text).tolist(), BEST.apply(space.video).tolist()
    scores = [[reference.top_k_similarity(v, s, 2, "jaccard") for v in video] for s in text]
    precisions = reference.matched_precisions(scores, space.caption_video.tolist())
    assert found[2] == pytest.approx(sum(precisions) / 2)
    assert set(top_k_precision(space, BEST, (3,), captions=2, seed=0)) == {3}


def _table():
    names = tuple(f"c{n}" for n in range(12))
    counts = ConceptCounts.from_kept(
        [3, 5, 7, 9], [{"c0": 4, "c1": 2}, {"c1": 3}, {"c0": 1}, {"c2": 2, "c0": 1}], names
    )
    head = TableHead("t", "f", ("noun",), False, names, tuple(range(12, 0, -1)), (CountedSet("/d", "f", 4, 20, 2),))
    return ConceptTable("/t", head, counts)


def test_captions_have_the_labels_of_their_videos():
    data, names = _set(), [f"c{n}" for n in range(12)]
    space = data.concept_space("jaccard")
    found = detector_values([data] * 3, [space] * 3, _table(), names)
    video, text = found["splits"]["toy"]["video"], found["splits"]["toy"]["text"]
    assert video["prevalence"][:3] == text["prevalence"][:3] == [0.75, 0.5, 0.25]
    present = np.zeros((4, 12), bool)  # the videos have the keys 7, 3, 5, 9
    present[[1, 0, 3], 0] = present[[1, 2], 1] = present[3, 2] = True
    for values, rows in ((video, present), (text, present[data.caption_video])):
        scores = space.video if values is video else space.text
        np.testing.assert_allclose(values["precision"][:3], reference_precision(scores.numpy(), rows)[:3], rtol=1e-12)
    assert [value is None for value in video["precision"]] == [False] * 3 + [True] * 9
    assert sorted(name for group in found["fates"].values() for name in group) == sorted(names)
    assert set(found["fates"]["too rare"]) == set(names)


def test_the_curve_of_the_shift_is_at_the_best_scale_and_power() -> None:
    data, policy = _set(), Scoring("hybrid", Transform("jaccard"))
    curve = shift_curve(data, BEST, policy)
    assert (min(curve), max(curve), len(curve)) == (-1.0, 1.0, 21)
    at_best = mean_precision(data.rows, replace(policy, space="concept", transform=BEST))
    assert curve[BEST.shift] == pytest.approx(at_best)


def test_sweeps_begin_with_the_first_parameter_that_has_an_effect() -> None:
    space = _set().concept_space("jaccard")
    sweeps = swept(space, (0.5, 1.0, 2.0))
    assert list(sweeps) == ["scale", "shift", "power"]
    for name, own in (("scale", 1.0), ("shift", 0.0), ("power", 1.0)):
        assert sweeps[name][own] == space.identity
    assert sweeps["scale"][2.0] == Transform("jaccard", 2.0)
    assert list(swept(_set().concept_space("cosine"), (1.0,))) == ["power", "shift"]


def test_a_histogram_counts_the_videos_with_and_without_a_concept() -> None:
    data = _set()
    names = tuple(f"c{n}" for n in range(12))
    kept = [{"c0": 2}, {"c1": 1}, {"c0": 1, "c2": 4}, {}]
    counts = ConceptCounts.join([ConceptCounts.from_kept([7, 3, 5, 9], kept, names)])
    head = TableHead("t", "f", ("noun",), False, names, tuple(range(12, 0, -1)), (CountedSet("d", "f", 4, 4, 1),))
    space = data.concept_space("jaccard")
    found = detector_values([data] * 3, [space] * 3, ConceptTable("t", head, counts), names)["histograms"]
    detected = 1 / (1 + np.exp(-space.video[:, 0].numpy().astype(float)))
    for name, rows in (("present", [0, 2]), ("absent", [1, 3])):
        expected = np.zeros(20, int)
        for row in rows:
            expected[min(19, int(detected[row] * 20))] += 1
        assert found["c0 (too rare)"]["toy"][name] == expected.tolist()


POLICY = Scoring("hybrid", Transform("jaccard"))


def _flags(**changes):
    return replace(ComplementarityFlags(("c",), "d", "o"), **changes)


def _map(scores, data):
    there, back = matched_precisions(scores.tolist(), data.caption_video.tolist())
    return 50 * (there + back)


def _scores(data):
    return cosine(data.text["latent"], data.video["latent"])


def test_two_latent_spaces_are_fused_with_equal_weights():
    first, second = _set(0, 6, 4), _set(1, 6, 4)
    expected = hybrid(_scores(first), _scores(second), 0.5, "matrix")
    found = fused_figures(fused(first.rows, second.rows), replace(POLICY, normalise="matrix"))
    assert found["map"] == pytest.approx(_map(expected, first))


def test_components_of_both_sides_and_the_whole_space_at_the_end():
    data = _set(0, 6, 4)
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
    data, other = _set(0, 40, 4), _set(1, 40, 4)
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
