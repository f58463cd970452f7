from dataclasses import replace

import numpy as np
import pytest
import torch

from pipelines.systems.dual.analysed_set import analysed_set
from pipelines.systems.dual.causality_analysis import (
    curves_by_set,
    detector_values,
    inferences,
    shift_curve,
    swept,
    top_k_precision,
)
from tests.reference import causality as reference
from tests.reference.calibration import tag_precision as reference_precision
from vtr_core.analysis.transforms import Transform
from vtr_core.data.concepts.concept_table import ConceptCounts, ConceptTable, CountedSet, TableHead
from vtr_core.embedding.video_ranking import Scoring
from vtr_core.similarity import cosine, hybrid
from vtr_core.systems.dual.dual_embeddings import DualRows
from vtr_core.systems.dual.evaluation import mean_precision

BEST = Transform("jaccard", 2.0, 0.5, 1.5)


def _set(latent=True):
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(16, 5, generator=generator)
    scores = 2 * torch.randn(16, 12, generator=generator)
    return analysed_set(
        "toy",
        DualRows(
            text={**({"latent": rows[:12].numpy()} if latent else {}), "concept": scores[:12].numpy()},
            video={**({"latent": rows[12:].numpy()} if latent else {}), "concept": scores[12:].numpy()},
            caption_video=np.arange(12) % 4,
            captions=("",) * 12,
            video_id=tuple("abcd"),
            video_key=np.array([7, 3, 5, 9]),
            caption_key=np.arange(12),
            text_present=np.ones(12, bool),
            video_present=np.ones(4, bool),
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
