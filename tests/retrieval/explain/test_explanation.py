"""What is said of a hit equals slow code, tag by tag; clouds have sizes by value, queries their right videos."""

import pytest
import torch

from tests.builders.dual_toys import WORDS, as_lists, hybrid, query, videos
from tests.reference import search as reference
from vtr_core.analysis.transforms import ConceptSimilarity, Transform
from vtr_core.embedding.video_ranking import Scoring, prepare, ranked
from vtr_core.errors import InputError
from vtr_core.retrieval.explain.explanation import (
    LARGEST,
    LONGEST_QUERY,
    SMALLEST,
    AskedQuery,
    HitExplanation,
    SizedTag,
    Tag,
    asked_queries,
    explain_hits,
    parse_queries,
    percent,
    sized,
    tag_columns,
)


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
        video_ids=[system.videos.video_id[position] for position in positions.tolist()],
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


def test_sizes_are_proportional_down_to_the_smallest_and_ties_stay_in_order() -> None:
    drawn = sized(
        [Tag("cat", 0.5, ""), Tag("dog", 1.0, ""), Tag("egg", 0.01, ""), Tag("no", 0.0, ""), Tag("x", -1.0, "")]
    )
    assert [(tag.text, tag.size) for tag in drawn] == [("dog", LARGEST), ("cat", LARGEST / 2), ("egg", SMALLEST)]
    assert [tag.text for tag in sized([Tag(name, 0.5, "") for name in ("b", "a", "c")])] == ["b", "a", "c"]
    assert sized([Tag("W" * 90, 1.0, "1 %")]) == [SizedTag(Tag("W" * 90, 1.0, "1 %"), "W" * 39 + "…", LARGEST)]


def test_a_cloud_is_drawn_smaller_where_a_name_would_not_fit_into_a_line() -> None:
    long, short, other = Tag("about/preposition", 1.0, ""), Tag("man/noun", 0.8, ""), Tag("preposition/noun", 0.1, "")
    sizes = [tag.size for tag in sized([long, short, other])]
    assert sizes[0] * len(long.name) * 0.56 == pytest.approx(76, rel=0.01)
    assert sizes[1] == pytest.approx(0.8 * sizes[0], abs=0.01)
    assert sizes[2] == SMALLEST
    assert [tag.size for tag in sized([short, other])] == [LARGEST, SMALLEST]


def test_lines_with_and_without_a_video() -> None:
    content = "\ufeffa dog runs\tv1\n\n  a cat sleeps \na man cooks\t\n".encode()
    assert parse_queries(content, "q") == [("a dog runs", "v1"), ("a cat sleeps", None), ("a man cooks", None)]
    for content in (b"", b" \n\t\n"):
        with pytest.raises(InputError, match="holds no query"):
            parse_queries(content, "q")
    with pytest.raises(InputError, match="is not UTF-8"):
        parse_queries(b"\xff\xfe", "q")


def test_right_videos_are_named_or_carry_the_caption() -> None:
    queries = [("a dog runs", None), ("anything", "v2"), ("a dog", None)]
    captions = ("a dog runs", "a cat", "a dog runs", " a dog runs ")
    checked = asked_queries(queries, ("v0", "v1", "v2"), captions, (2, 1, 2, 0))
    assert checked == [AskedQuery("a dog runs", (0, 2)), AskedQuery("anything", (2,)), AskedQuery("a dog", ())]


def test_faults_are_named() -> None:
    with pytest.raises(InputError, match="no video 'v9' with features"):
        asked_queries([("a dog", "v9")], ("v0",), (), ())
    with pytest.raises(InputError, match="has 1001 characters; 1000 are allowed"):
        asked_queries([("a" * (LONGEST_QUERY + 1), None)], ("v0",), (), ())
