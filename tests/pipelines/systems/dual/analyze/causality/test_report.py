import numpy as np
import pytest
import torch

from pipelines.systems.dual.analysed_set import AnalysedSet
from pipelines.systems.dual.causality_findings import (
    curves_by_set,
    detector_fates,
    histogram,
    inferences,
    matched_curves,
    split_report,
    swept_curves,
    swept_top_k,
    top_k_precision,
)
from tests.reference import causality as reference
from vtr_core.analysis.transforms import Transform
from vtr_core.data.concepts.concept_table import ConceptCounts, ConceptTable, CountedSet, TableHead
from vtr_core.similarity import hybrid

BEST = Transform("jaccard", 2.0, 0.5, 1.5)


def _set(latent=True):
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(16, 5, generator=generator)
    scores = 2 * torch.randn(16, 12, generator=generator)
    return AnalysedSet(
        "toy",
        rows[:12] if latent else None,
        rows[12:] if latent else None,
        scores[:12],
        scores[12:],
        torch.arange(12) % 4,
        np.arange(12),
        np.array([7, 3, 5, 9]),
        0,
    )


def test_inferences_are_the_rows_of_the_table():
    data = _set()
    space = data.concept_space("jaccard")
    found = {one.name: one for one in inferences(data, space, {"original": space.identity, "improved": BEST}, 0.6)}
    assert list(found) == ["hybrid, original", "hybrid, improved", "concepts, original", "concepts, improved"]
    both = hybrid(data.latent_scores, space.scores(BEST), 0.6, "matrix")
    precisions = reference.matched_precisions(both.tolist(), data.caption_video.tolist())
    improved = found["hybrid, improved"]
    assert improved.figures.mean_average_precision == pytest.approx(sum(precisions) / 2)
    text, video = BEST.apply(space.text).tolist(), BEST.apply(space.video).tolist()
    values = [reference.causality_at_k(video[v], text[i], 10, "jaccard") for i, v in enumerate(data.caption_video)]
    assert found["concepts, improved"].causality[10] == pytest.approx(
        (np.mean(values), np.std(values)), rel=1e-5, abs=1e-6
    )
    assert improved.causality[10] == pytest.approx((0.4 * np.mean(values), 0.4 * np.std(values)), rel=1e-5, abs=1e-6)
    alone = _set(latent=False)
    names = [one.name for one in inferences(alone, alone.concept_space("jaccard"), {"joint": BEST}, 0.6)]
    assert names == ["concepts, joint"]


def test_matched_pairs_are_among_the_sets():
    space = _set().concept_space("jaccard")
    found = curves_by_set(space, BEST, seed=0)
    assert found["matched"].num_pairs == 12
    assert found["text->video top 1"].num_pairs == 12
    assert found["video->text top 10"].num_pairs == 40


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
    data = _set()
    report = split_report("toy", data, data.concept_space("jaccard"), _table(), BEST)
    assert report.num_videos == 4
    assert report.video.original.expected_detection == pytest.approx((1.5 + 1 + 1 + 1.5) / 48)
    assert report.text.original.expected_detection == pytest.approx(report.video.original.expected_detection)
    assert report.video.tags.prevalence[:3].tolist() == [0.75, 0.5, 0.25]
    assert report.video.improved.mean_detection == pytest.approx(BEST.apply(data.concept_video).mean().item(), rel=1e-5)
    assert report.video.original.mean_detection == pytest.approx(data.concept_video.sigmoid().mean().item(), rel=1e-5)
    cosine = split_report("toy", data, data.concept_space("cosine"), _table(), Transform("cosine", power=2.0))
    assert cosine.video.improved is None


def test_fates_name_every_concept_once():
    data = _set()
    report = split_report("toy", data, data.concept_space("jaccard"), _table(), BEST)
    found = detector_fates({"a": report, "b": report}, "a", "b", [f"c{n}" for n in range(12)])
    assert sorted(name for names in found.values() for name in names) == sorted(f"c{n}" for n in range(12))
    assert set(found["too rare"]) == {f"c{n}" for n in range(12)}


def test_sweeps_begin_with_the_first_parameter_that_has_an_effect() -> None:
    space = _set().concept_space("jaccard")
    sweeps = swept_curves(space)
    assert list(sweeps) == ["scale", "shift", "power"]
    trained = matched_curves(space, space.identity)
    for name, own in (("scale", 1.0), ("shift", 0.0), ("power", 1.0)):
        np.testing.assert_array_equal(sweeps[name][own].cumulative_mean, trained.cumulative_mean)
    doubled = matched_curves(space, Transform("jaccard", 2.0))
    np.testing.assert_array_equal(sweeps["scale"][2.0].individual_mean, doubled.individual_mean)
    assert list(swept_curves(_set().concept_space("cosine"))) == ["power", "shift"]
    by_scale = swept_top_k(space, [2, 12], 100, 0)
    assert by_scale[4.0] == top_k_precision(space, Transform("jaccard", 4.0), [2, 12], 100, 0)
    assert list(swept_top_k(_set().concept_space("cosine"), [2], 100, 0)) == [0.5, 1.0, 1.5, 2.0, 3.0]


def test_a_histogram_counts_the_videos_with_and_without_a_concept() -> None:
    data = _set()
    names = tuple(f"c{n}" for n in range(12))
    kept = [{"c0": 2}, {"c1": 1}, {"c0": 1, "c2": 4}, {}]
    counts = ConceptCounts.join([ConceptCounts.from_kept([7, 3, 5, 9], kept, names)])
    head = TableHead("t", "f", ("noun",), False, names, tuple(range(12, 0, -1)), (CountedSet("d", "f", 4, 4, 1),))
    space = data.concept_space("jaccard")
    found = histogram(data, space, ConceptTable("t", head, counts), 0)
    detected = 1 / (1 + np.exp(-space.video[:, 0].numpy().astype(float)))
    for values, rows in ((found.present, [0, 2]), (found.absent, [1, 3])):
        expected = np.zeros(20, int)
        for row in rows:
            expected[min(19, int(detected[row] * 20))] += 1
        assert values.tolist() == expected.tolist()
