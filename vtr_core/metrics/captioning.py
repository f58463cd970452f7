"""CIDEr-D, BLEU, ROUGE-L and METEOR of generated captions against references."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal, assert_never

import numpy as np
from jaxtyping import Bool, Float64, Int64

from vtr_core.errors import ConfigError, InputError, how_to_install
from vtr_core.text.statistics import LONGEST, NGrams, consensus, inverse_document_frequency, ngrams, weighted
from vtr_core.text.tokens.vocabulary import given_texts, words_of

_SMALL, _TINY = 1e-9, 1e-15
"""Constants that the published code adds to denominators and numerators, against division by 0."""


@dataclass(frozen=True)
class BleuCounts:
    """Per hypothesis: its words, those of the reference nearest in length (on a tie the shorter), and how many of its
    n-grams occur in a reference, each clipped at its largest count in any one reference.
    """

    words: Int64[np.ndarray, " items"]
    reference_words: Int64[np.ndarray, " items"]
    possible: Int64[np.ndarray, "items orders"]
    """n-grams of the hypothesis."""
    matched: Float64[np.ndarray, "items orders"]

    def total(self) -> "BleuCounts":
        """The sums over all hypotheses, as counts of a single one, for corpus BLEU."""
        fields = (self.words, self.reference_words, self.possible, self.matched)
        return BleuCounts(*(counts.sum(axis=0, keepdims=True) for counts in fields))


def bleu_counts(
    grams: NGrams, document: Int64[np.ndarray, " captions"], hypotheses: Bool[np.ndarray, " captions"]
) -> BleuCounts:
    """The counts of the hypotheses, document by document; all other captions are references of their document.

    Every document 0, 1, … has exactly one hypothesis and at least one reference.
    """
    width, items = max(1, grams.num_grams), int(hypotheses.sum())
    own, expected = grams.of(hypotheses), grams.of(~hypotheses)
    key = document[expected.caption] * width + expected.gram
    order = np.argsort(key, kind="stable")
    keys, first = np.unique(key[order], return_index=True)
    most = np.maximum.reduceat(expected.count[order], first) if len(first) else expected.count[:0]
    own_key = document[own.caption] * width + own.gram
    place = np.searchsorted(keys, own_key)
    known = place < len(keys)
    known[known] = keys[place[known]] == own_key[known]
    matched = np.zeros(len(own_key), np.int64)
    matched[known] = np.minimum(own.count[known], most[place[known]])
    cell = document[own.caption] * LONGEST + own.order
    words = np.zeros(items, np.int64)
    words[document[hypotheses]] = grams.words[hypotheses]
    return BleuCounts(
        words,
        _nearest(words, grams.words[~hypotheses], document[~hypotheses]),
        np.maximum(0, words[:, None] - np.arange(LONGEST)),
        np.bincount(cell, matched, items * LONGEST).reshape(items, LONGEST).astype(np.float64),
    )


def bleu_of(counts: BleuCounts) -> Float64[np.ndarray, "items orders"]:
    """BLEU-1, …, BLEU-4 of every item: brevity penalty · (p₁ … p_n)^(1/n) (Papineni et al. 2002).

    For an empty hypothesis 0, up to the published code's small constants, which are kept.
    """
    precision = (counts.matched + _TINY) / (counts.possible + _SMALL)
    score = np.cumprod(precision, axis=1) ** (1.0 / np.arange(1, LONGEST + 1))
    ratio = (counts.words + _TINY) / (counts.reference_words + _SMALL)
    penalty = np.exp(np.minimum(0.0, 1.0 - 1.0 / ratio))
    return score * penalty[:, None]


def _nearest(
    words: Int64[np.ndarray, " items"],
    reference_words: Int64[np.ndarray, " references"],
    item: Int64[np.ndarray, " references"],
) -> Int64[np.ndarray, " items"]:
    """The number of words of each item's reference that is nearest in length."""
    order = np.lexsort((reference_words, np.abs(reference_words - words[item]), item))
    items, first = np.unique(item[order], return_index=True)
    nearest = np.zeros(len(words), np.int64)
    nearest[items] = reference_words[order][first]
    return nearest


def java_missing() -> str | None:
    """Why METEOR and the tokeniser cannot run here; None where they can."""
    if find_spec("pycocoevalcap") is None:
        return f"pycocoevalcap is not installed: {how_to_install('captioning')}"
    if shutil.which("java") is None:
        return "there is no java on the PATH, and METEOR 1.5 is a Java program: install a Java runtime, 8 or later"
    return None


def treebank_words(captions: Mapping[str, Sequence[str]]) -> dict[str, list[list[str]]]:
    """The words of captions by Stanford's Penn Treebank tokeniser, in lower case, without punctuation."""
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    records = {name: [{"caption": text} for text in texts] for name, texts in captions.items()}
    return {name: [text.split() for text in texts] for name, texts in PTBTokenizer().tokenize(records).items()}


BETA = 1.2
"""Weight β of recall against precision."""


def rouge_l_of(hypothesis: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """(1 + β²) P R / (R + β² P), P and R the best precision and the best recall over the references (Lin 2004).

    The two may come from different references, as in the captioning code that published results use. 0 where no word is
    shared, and for an empty hypothesis.
    """
    places = _places(hypothesis)
    common = [_common(places, len(hypothesis), reference) for reference in references]
    precision = max((length / len(hypothesis) for length in common), default=0.0) if hypothesis else 0.0
    recall = max((n / len(words) for n, words in zip(common, references, strict=True) if words), default=0.0)
    if precision == 0 or recall == 0:
        return 0.0
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)


def _places(words: Sequence[str]) -> dict[str, int]:
    """The positions of each word as a bit mask."""
    places: dict[str, int] = {}
    for position, word in enumerate(words):
        places[word] = places.get(word, 0) | 1 << position
    return places


def _common(places: Mapping[str, int], length: int, reference: Sequence[str]) -> int:
    """Length of the longest common subsequence; each row of the dynamic program is one integer's bits (Hyyrö 2004)."""
    every = (1 << length) - 1
    row = every
    for word in reference:
        matches = row & places.get(word, 0)
        row = (row + matches | row - matches) & every
    return length - row.bit_count()


CaptionTokenizer = Literal["spaces", "words", "alphanumeric", "treebank"]
Hypotheses = Mapping[str, str]
References = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class CaptionScores:
    """The score of the whole set, and that of every item by its id."""

    mean: float
    by_id: dict[str, float]


@dataclass(frozen=True)
class CaptionMetrics:
    """All metrics of a set of captions. BLEU by n, ROUGE-L and METEOR are in [0, 1], CIDEr-D in [0, 10]."""

    bleu: dict[int, float]
    meteor: float | None
    meteor_absent: str | None
    """Why there is no METEOR."""
    rouge_l: float
    cider: float
    by_id: dict[str, float]
    """CIDEr-D of every item."""
    num_items: int
    tokenizer: CaptionTokenizer


def cider(hypotheses: Hypotheses, references: References, *, tokenizer: CaptionTokenizer = "spaces") -> CaptionScores:
    """CIDEr-D (Vedantam et al. 2015): see `consensus`; every id is a document, df counts references alone.

    With a single id every idf, and so every score, is 0. Raises InputError where ids differ or an id has no reference.
    """
    return _cider(_cut(hypotheses, references, tokenizer))


def caption_metrics(
    hypotheses: Hypotheses,
    references: References,
    *,
    tokenizer: CaptionTokenizer = "words",
    with_meteor: bool = True,
) -> CaptionMetrics:
    """All metrics; METEOR only where it is requested and available."""
    cut = _cut(hypotheses, references, tokenizer)
    grams, document, is_hypothesis = cut.arrays()
    absent = java_missing() if with_meteor else "it was not asked for"
    scores = _cider(cut)
    return CaptionMetrics(
        bleu=dict(enumerate(bleu_of(bleu_counts(grams, document, is_hypothesis).total())[0].tolist(), start=1)),
        meteor=_meteor(cut) if absent is None else None,
        meteor_absent=absent,
        rouge_l=float(np.mean([rouge_l_of(*pair) for pair in zip(cut.hypotheses, cut.references, strict=True)])),
        cider=scores.mean,
        by_id=scores.by_id,
        num_items=len(cut.ids),
        tokenizer=tokenizer,
    )


@dataclass(frozen=True)
class _Cut:
    """Captions as words: the hypothesis of every id first, in order, then all references."""

    ids: list[str]
    hypotheses: list[list[str]]
    references: list[list[list[str]]]

    def arrays(self) -> tuple[NGrams, Int64[np.ndarray, " captions"], Bool[np.ndarray, " captions"]]:
        """All n-grams, the number of each caption's id, and which captions are hypotheses."""
        items = np.arange(len(self.ids))
        document = np.concatenate([items, np.repeat(items, [len(texts) for texts in self.references])])
        grams = ngrams([*self.hypotheses, *(words for texts in self.references for words in texts)])
        return grams, document, np.arange(len(document)) < len(items)


def _cut(hypotheses: Hypotheses, references: References, tokenizer: CaptionTokenizer) -> _Cut:
    _check(hypotheses, references)
    references = {name: given_texts(texts) for name, texts in references.items()}
    ids = list(hypotheses)
    if tokenizer == "treebank":
        missing = java_missing()
        if missing is not None:
            raise ConfigError(f"the tokenizer treebank cannot run: {missing}; use words, alphanumeric or spaces")
        own = treebank_words({name: [text] for name, text in hypotheses.items()})
        expected = treebank_words(references)
        return _Cut(ids, [own[name][0] for name in ids], [expected[name] for name in ids])
    return _Cut(
        ids,
        [_words(hypotheses[name], tokenizer) for name in ids],
        [[_words(text, tokenizer) for text in references[name]] for name in ids],
    )


def _words(text: str, tokenizer: Literal["spaces", "words", "alphanumeric"]) -> list[str]:
    match tokenizer:
        case "spaces":
            return text.split()
        case "words" | "alphanumeric":
            return words_of(text, tokenizer)
        case _:
            assert_never(tokenizer)


def _check(hypotheses: Hypotheses, references: References) -> None:
    if not hypotheses:
        raise InputError("there is no hypothesis to score; give a caption for at least one id")
    for ids, other, kind in ((hypotheses, references, "reference"), (references, hypotheses, "hypothesis")):
        missing = [name for name in ids if name not in other]
        if missing:
            raise InputError(f"{len(missing)} ids have no {kind}, the first is {missing[0]!r}; both need the same ids")
    for name, text in hypotheses.items():
        if not isinstance(text, str):
            raise InputError(f"the hypothesis of {name!r} is no text but {type(text).__name__}; give one caption")
    empty = [name for name, texts in references.items() if not texts]
    if empty:
        raise InputError(f"{len(empty)} ids have no reference, the first is {empty[0]!r}; leave them out")


def _cider(cut: _Cut) -> CaptionScores:
    grams, document, is_hypothesis = cut.arrays()
    vectors = weighted(grams, inverse_document_frequency(grams, document, ~is_hypothesis))
    scores = consensus(vectors, document, is_hypothesis, ~is_hypothesis)[: len(cut.ids)]
    return CaptionScores(float(np.mean(scores)), dict(zip(cut.ids, scores.tolist(), strict=True)))


def _meteor(cut: _Cut) -> float:
    """The mean METEOR of all items, in [0, 1] (Denkowski and Lavie 2014)."""
    from pycocoevalcap.meteor.meteor import Meteor

    hypotheses = {name: [" ".join(words)] for name, words in zip(cut.ids, cut.hypotheses, strict=True)}
    references = {name: list(map(" ".join, texts)) for name, texts in zip(cut.ids, cut.references, strict=True)}
    return float(np.mean(Meteor().compute_score(references, hypotheses)[1]))
