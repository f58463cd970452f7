import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.optional import optional
from tests.reference import captioning as reference
from vtr_core.errors import ConfigError, InputError
from vtr_core.metrics import captioning
from vtr_core.metrics.captioning import CaptionMetrics, caption_metrics, cider, java_missing

REFERENCES = {
    "a": ["a man is cooking food", "a person cooks in a kitchen", "someone is cooking"],
    "b": ["a dog runs in the park", "the dog is running outside", "a brown dog runs"],
    "c": ["a woman sings a song", "a lady is singing", "someone sings on stage"],
}
HYPOTHESES = {"a": "a man is cooking in a kitchen", "b": "a dog is running", "c": "a woman is singing a song"}

captions = st.lists(st.sampled_from("abcd"), max_size=8).map(" ".join)
sets = st.lists(st.tuples(captions, st.lists(captions, min_size=1, max_size=4)), min_size=1, max_size=5)


def as_dicts(drawn: list[tuple[str, list[str]]]) -> tuple[dict[str, str], dict[str, list[str]]]:
    return {str(i): one for i, (one, _) in enumerate(drawn)}, {str(i): texts for i, (_, texts) in enumerate(drawn)}


def _figures(hypotheses: dict[str, str], references: dict[str, list[str]]) -> CaptionMetrics:
    return caption_metrics(hypotheses, references, tokenizer="spaces", with_meteor=False)


def test_cider_has_the_published_definition_s_values() -> None:
    scores = cider(HYPOTHESES, REFERENCES)
    assert list(scores.by_id.values()) == pytest.approx([3.01023038, 2.20895511, 1.44079055], abs=1e-8)
    assert scores.mean == pytest.approx(2.2199920165, abs=1e-9)


@settings(max_examples=60)
@given(sets)
def test_figures_are_those_of_plain_code(drawn: list[tuple[str, list[str]]]) -> None:
    hypotheses, references = as_dicts(drawn)
    scores = cider(hypotheses, references)
    assert scores.by_id == pytest.approx(reference.cider(hypotheses, references))
    assert scores.mean == pytest.approx(sum(scores.by_id.values()) / len(drawn))
    figures = _figures(hypotheses, references)
    assert list(figures.bleu.values()) == pytest.approx(reference.bleu(hypotheses, references), rel=1e-9, abs=1e-12)
    rouge = [reference.rouge_l(h.split(), [r.split() for r in references[n]]) for n, h in hypotheses.items()]
    assert figures.rouge_l == pytest.approx(sum(rouge) / len(rouge))
    assert (figures.cider, figures.by_id) == (pytest.approx(scores.mean), pytest.approx(scores.by_id))


def test_pairs_are_compared_in_blocks_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = cider(HYPOTHESES, REFERENCES)
    for pairs in (1, 2, 7):
        monkeypatch.setattr("vtr_core.text.statistics._PAIRS", pairs)
        assert cider(HYPOTHESES, REFERENCES).by_id == pytest.approx(expected.by_id, rel=1e-12)


def test_figures_equal_pycocoevalcap_s() -> None:
    optional("pycocoevalcap", "captioning")
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.rouge.rouge import Rouge

    given, expected = {n: [h] for n, h in HYPOTHESES.items()}, dict(REFERENCES)
    assert cider(HYPOTHESES, REFERENCES).mean == pytest.approx(Cider().compute_score(expected, given)[0], rel=1e-12)
    ours = _figures(HYPOTHESES, REFERENCES)
    assert ours.rouge_l == pytest.approx(Rouge().compute_score(expected, given)[0], rel=1e-12)
    theirs = Bleu(4).compute_score(expected, given, verbose=0)
    assert list(ours.bleu.values()) == pytest.approx(theirs[0], rel=1e-12)


def test_meteor_runs_with_java_and_says_why_it_does_not_without(monkeypatch: pytest.MonkeyPatch) -> None:
    if (missing := java_missing()) is None:
        assert 0.2 < caption_metrics(HYPOTHESES, REFERENCES).meteor < 0.9
    else:
        assert caption_metrics(HYPOTHESES, REFERENCES).meteor_absent == missing
    monkeypatch.setattr(captioning, "java_missing", lambda: "there is no java on the PATH")
    figures = caption_metrics(HYPOTHESES, REFERENCES)
    assert (figures.meteor, figures.meteor_absent) == (None, "there is no java on the PATH")
    with pytest.raises(ConfigError, match="treebank cannot run: there is no java"):
        cider(HYPOTHESES, REFERENCES, tokenizer="treebank")


def test_treebank_words_are_lower_case_without_punctuation() -> None:
    if (missing := java_missing()) is not None:
        pytest.skip(f"{missing}; Java and the extra `captioning` make it run")
    scores = cider({"a": "A man, cooking.", "b": "x"}, {"a": ["a man cooking"], "b": ["a dog"]}, tokenizer="treebank")
    assert scores.by_id == pytest.approx(
        cider({"a": "a man cooking", "b": "x"}, {"a": ["a man cooking"], "b": ["a dog"]}).by_id
    )


def test_the_tokenizer_decides_and_is_told() -> None:
    shouted = {name: text.upper() + "!" for name, text in HYPOTHESES.items()}
    assert cider(shouted, REFERENCES).mean == 0.0
    figures = caption_metrics(shouted, REFERENCES, tokenizer="words", with_meteor=False)
    assert figures.cider == pytest.approx(2.2199920165, abs=1e-9)
    assert (figures.tokenizer, figures.num_items, figures.meteor_absent is None) == ("words", 3, False)


def test_an_empty_hypothesis_scores_nothing() -> None:
    empty = {**HYPOTHESES, "b": ""}
    assert cider(empty, REFERENCES).by_id["b"] == 0.0
    alone = _figures({"b": ""}, {"b": REFERENCES["b"]})
    assert (alone.rouge_l, alone.bleu[1]) == (0.0, pytest.approx(0.0, abs=1e-5))
    assert not math.isnan(_figures({"a": ""}, {"a": [""]}).bleu[4])


@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        ({}, {}, "no hypothesis to score"),
        ({"a": "x"}, {"b": ["x"]}, "1 ids have no reference, the first is 'a'"),
        ({"a": "x"}, {"a": ["x"], "b": ["y"]}, "1 ids have no hypothesis, the first is 'b'"),
        ({"a": "x"}, {"a": []}, "1 ids have no reference, the first is 'a'"),
    ],
)
def test_ids_must_be_the_same(hypotheses: dict[str, str], references: dict[str, list[str]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        cider(hypotheses, references)
