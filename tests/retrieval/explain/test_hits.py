"""What is said of a hit equals slow code, tag by tag."""

import pytest
import torch

from tests.builders.dual_toys import WORDS, as_lists, hybrid, query, videos
from tests.reference import search as reference
from vtr_core.analysis.transforms import ConceptSimilarity, Transform
from vtr_core.embedding.video_ranking import Scoring, prepare, ranked
from vtr_core.retrieval.explain.explanation import HitExplanation, explain_hits, percent, tag_columns


def explained(scoring: Scoring, num_tags: int = 5) -> tuple[HitExplanation, ...]:
    kind = scoring.transform.similarity
    system, asked = prepare(videos(similarity=kind), scoring), query()
    assert system.compared is not None
    assert asked.concept is not None
    scores = system.score(asked)
    positions = ranked(scores, scoring, 4)
    return explain_hits(
        positions,
        scores,
        system.compared[positions],
        scoring.transform.apply(asked.concept),
        scoring,
        concepts=WORDS,
        video_ids=system.videos.video_id,
        right=(int(positions[1]),),
        num_tags=num_tags,
    )


@pytest.mark.parametrize("kind", ["jaccard", "cosine"])
def test_contributions_and_causality_equal_slow_code(kind: ConceptSimilarity) -> None:
    values = (2.0, 0.25, 1.5, kind)
    scoring = Scoring("hybrid", Transform(kind, *values[:3]), latent_weight=0.7)
    searched, asked = videos(similarity=kind), query()
    assert searched.concept is not None
    text = reference.sharpened(as_lists(asked.concept), *values)
    for hit in explained(scoring):
        video = reference.sharpened(as_lists(searched.concept[searched.video_id.index(hit.video_id)]), *values)
        shares = sorted(reference.shares(video, text, kind), reverse=True)
        assert [tag.value for tag in hit.contributions] == pytest.approx([0.3 * s for s in shares[:5]], rel=1e-4)
        assert hit.causality_few == pytest.approx(0.3 * sum(shares[:10]), rel=1e-4)
        assert hit.causality_many == pytest.approx(0.3, rel=1e-4)  # fewer than 30 concepts
        strongest = sorted(range(len(WORDS)), key=lambda i: -video[i])[:5]
        assert [tag.name for tag in hit.video] == [WORDS[i] for i in strongest if video[i] > 0]
        assert [tag.value for tag in hit.video] == pytest.approx(
            [video[i] for i in strongest if video[i] > 0], rel=1e-4
        )


def test_ranks_scores_and_the_right_video() -> None:
    hits = explained(hybrid())
    assert [hit.rank for hit in hits] == [1, 2, 3, 4]
    assert [hit.right for hit in hits] == [False, True, False, False]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(hit.latent is not None for hit in hits)


def test_matched_tags_are_strong_on_both_sides() -> None:
    for hit in explained(hybrid()):
        both = {tag.name for tag in hit.video} & {tag.name for tag in hit.query}
        assert {tag.name for tag in hit.shared} == both
        for column in (hit.video, hit.query, hit.contributions, hit.shared):
            assert {tag.name for tag in column if tag.matched} == both & {tag.name for tag in column}
        smaller = {
            t.name: min(t.value, next(q.value for q in hit.query if q.name == t.name)) for t in hit.video if t.matched
        }
        assert {tag.name: tag.value for tag in hit.shared} == pytest.approx(smaller)


def test_the_concept_space_alone_decides_all() -> None:
    hit = explained(Scoring("concept", Transform("jaccard")), num_tags=14)[0]
    assert hit.causality_many == pytest.approx(1.0, rel=1e-5)
    assert sum(tag.value for tag in hit.contributions) == pytest.approx(1.0, rel=1e-5)


def test_cosine_says_what_is_denied_and_what_counts_against() -> None:
    """dog: both strong; cat: both deny it; car: they disagree."""
    video, text = torch.tensor([2.0, -3.0, 1.0]), torch.tensor([2.0, -1.0, -1.0])
    shares = torch.tensor([4 / 8, 3 / 8, 1 / 8])
    columns = tag_columns(video, text, shares, "cosine", ("dog", "cat", "car"), 3)
    assert [tag.name for tag in columns[0]] == ["dog", "car"]
    assert [tag.name for tag in columns[1]] == ["dog"]
    assert [(tag.name, tag.shown, tag.against) for tag in columns[2]] == [
        ("dog", "50 %", False),
        ("¬cat", "38 %", False),
        ("car", "12 %", True),
    ]
    assert [(tag.name, tag.value) for tag in columns[3]] == [("dog", 2.0)]


def test_a_pair_that_shares_nothing() -> None:
    columns = tag_columns(torch.zeros(2), torch.tensor([0.5, 0.0]), torch.zeros(2), "jaccard", ("dog", "cat"), 5)
    assert [len(column) for column in columns] == [0, 1, 0, 0]


@pytest.mark.parametrize(("share", "shown"), [(0.5, "50 %"), (0.0994, "9.9 %"), (0.004, "0.4 %"), (0.0002, "0.02 %")])
def test_percent(share: float, shown: str) -> None:
    assert percent(share) == shown
