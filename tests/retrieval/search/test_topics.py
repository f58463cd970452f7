"""Topics as TRECVID and people write them, TREC runs, and infAP of rankings as the metric's own slow code has it."""

import numpy as np
import pytest

from tests.reference import inferred as reference
from vtr_core.errors import InputError
from vtr_core.metrics.average_precision import Judgement
from vtr_core.retrieval.search.topics import (
    RankedTopic,
    Topic,
    inferred_scores,
    mean_score,
    parse_judgements,
    parse_topics,
    run_lines,
)

EXPECTED = (
    Topic("501", "a person playing guitar outdoors"),
    Topic("502", "a man indoors looking at camera & <smiling>"),
)
CHILDREN = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE videoAdhocSearchTopics SYSTEM "https://example.org/topics.dtd">
<videoAdhocSearchTopics>
  <videoAdhocSearchTopic><num> 501 </num><textDescription text="Find shots of a person playing guitar outdoors"/>
  </videoAdhocSearchTopic>
  <videoAdhocSearchTopic><num>502</num><textDescription text="Find shots of a man indoors
     looking at camera &amp; &lt;smiling&gt;"/></videoAdhocSearchTopic>
</videoAdhocSearchTopics>"""
ATTRIBUTES = """<topics xmlns="urn:x"><topic number="501">
<text>Find shots of a person playing guitar outdoors</text></topic>
<topic number="502" text="a man indoors looking at camera &amp; &lt;smiling&gt;"/></topics>"""
LINES = """\ufeff# topics of one year
501 Find shots of a person playing guitar outdoors

502\ta man indoors looking at camera & <smiling>
"""


@pytest.mark.parametrize("text", [CHILDREN, ATTRIBUTES, LINES], ids=["children", "attributes", "lines"])
def test_topics_of_every_form(text: str) -> None:
    assert parse_topics(text.encode(), "topics") == EXPECTED


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "holds no topic"),
        (b"# nothing\n\n", "holds no topic"),
        (b"501\n", "line 1: '501' is no topic"),
        (b"501 a dog\n501 a cat\n", "topic 501 occurs more than once"),
        (b"<topics><topic>", "damaged XML"),
        (b"<topics/>", "holds no topic"),
        (b'<!DOCTYPE t [<!ENTITY a "aaaa">]><t><topic num="1" text="&a;"/></t>', "declares entities"),
        (b"\xff\xfe501", "is not UTF-8"),
    ],
)
def test_what_is_no_file_of_topics(content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_topics(content, "topics")


def ranking(topic: str, *items: str) -> RankedTopic:
    return RankedTopic(Topic(topic, "text"), tuple((item, 1 / rank) for rank, item in enumerate(items, start=1)))


def test_a_run_has_a_line_for_each_item() -> None:
    lines = run_lines([ranking("501", "shot1_2", "shot3_4"), ranking("502"), ranking("503", "x")], "vtr")
    assert lines == "501 Q0 shot1_2 1 1 vtr\n501 Q0 shot3_4 2 0.5 vtr\n503 Q0 x 1 1 vtr\n"
    with pytest.raises(InputError, match="white space"):
        run_lines([ranking("501", "a b")], "vtr")


def test_judgements_with_and_without_strata() -> None:
    pools = parse_judgements(b"501 0 a 1 1\n501 0 b 2 -1\n\n502 0 a 0\n", "qrels")
    assert pools == {
        "501": {"a": Judgement("1", True), "b": Judgement("2", None)},
        "502": {"a": Judgement("all", False)},
    }
    for content, message in ((b"", "holds no judgement"), (b"501 0 a 1 2\n", "line 1"), (b"501 a 1\n", "line 1")):
        with pytest.raises(InputError, match=message):
            parse_judgements(content, "qrels")


def test_inferred_scores_of_stratified_judgements_equal_slow_code() -> None:
    """Three strata, judged in full, by half, and by a tenth; the run's depth cuts."""
    generator = np.random.default_rng(1)
    qrels = {}
    for item in range(300):
        stratum = 1 + (item >= 60) + (item >= 160)
        judged = generator.random() < (1.0, 0.5, 0.1)[stratum - 1]
        qrels[f"shot{item}"] = (str(stratum), int(generator.random() < 0.3) if judged else -1)
    lines = "".join(f"1501 0 {item} {stratum} {value}\n" for item, (stratum, value) in qrels.items())
    order = [f"shot{i}" for i in generator.permutation(400)]
    (score,) = inferred_scores(
        [ranking("501", *order), ranking("599", "x")], parse_judgements(lines.encode(), "q"), 200
    )
    assert score.topic_id == "501"
    assert score.value == pytest.approx(reference.inferred_average_precision(order, qrels, 200), abs=1e-12)
    assert 0 < score.value < 1


def test_a_topic_without_results_counts_as_0_and_one_without_judgements_not_at_all() -> None:
    pools = parse_judgements(b"501 0 a 1 1\n502 0 a 1 1\n", "q")
    scores = inferred_scores([ranking("501", "a"), ranking("502"), ranking("503", "a")], pools, 1000)
    assert [(score.topic_id, score.value) for score in scores] == [("501", 1.0), ("502", 0.0)]
    assert mean_score(scores) == 0.5
    two = [ranking("1", "a"), ranking("11", "a")]
    assert [score.topic_id for score in inferred_scores(two, parse_judgements(b"11 0 a 1 1\n", "q"), 10)] == ["11"]
    with pytest.raises(InputError, match=r"no topic has judgements: they are of 501, 502 …, the run of topics 7"):
        inferred_scores([ranking("7", "a")], pools, 1000)
