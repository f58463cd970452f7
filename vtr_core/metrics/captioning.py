"""CIDEr-D, BLEU, ROUGE-L and METEOR of generated captions against references.

The values are those of pycocoevalcap on the same words, so they depend on the tokeniser: "spaces" splits captions at
spaces alone; "words" and "alphanumeric" are the vocabulary's; "treebank", which published results use, needs Java. An
empty hypothesis scores 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

import numpy as np
from jaxtyping import Bool, Int64

from vtr_core.errors import ConfigError, InputError
from vtr_core.metrics.sentences.bleu import bleu_counts, bleu_of
from vtr_core.metrics.sentences.java_metrics import java_missing, meteor_of, treebank_words
from vtr_core.metrics.sentences.rouge import rouge_l_of
from vtr_core.text.statistics.consensus import consensus, inverse_document_frequency, weighted
from vtr_core.text.tokens.ngrams import NGrams, ngrams
from vtr_core.text.tokens.vocabulary import words_of

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


def bleu(
    hypotheses: Hypotheses, references: References, *, tokenizer: CaptionTokenizer = "spaces"
) -> dict[int, CaptionScores]:
    """BLEU-1 to BLEU-4; `mean` is corpus BLEU, from counts summed over the set, as published, not a mean of items."""
    return _bleu(_cut(hypotheses, references, tokenizer))


def rouge_l(hypotheses: Hypotheses, references: References, *, tokenizer: CaptionTokenizer = "spaces") -> CaptionScores:
    """ROUGE-L; see `rouge_l_of`."""
    return _rouge_l(_cut(hypotheses, references, tokenizer))


def meteor(
    hypotheses: Hypotheses, references: References, *, tokenizer: CaptionTokenizer = "spaces"
) -> CaptionScores | None:
    """METEOR; None where it cannot run, and `java_missing()` says why."""
    return _meteor(_cut(hypotheses, references, tokenizer))


def caption_metrics(
    hypotheses: Hypotheses,
    references: References,
    *,
    tokenizer: CaptionTokenizer = "words",
    with_meteor: bool = True,
) -> CaptionMetrics:
    """All metrics; METEOR only where it is requested and available."""
    cut = _cut(hypotheses, references, tokenizer)
    found = _meteor(cut) if with_meteor else None
    absent = None if found is not None else java_missing() if with_meteor else "it was not asked for"
    scores = _cider(cut)
    return CaptionMetrics(
        bleu={n: one.mean for n, one in _bleu(cut).items()},
        meteor=None if found is None else found.mean,
        meteor_absent=absent,
        rouge_l=_rouge_l(cut).mean,
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
    ids = list(hypotheses)
    if tokenizer == "treebank":
        missing = java_missing()
        if missing is not None:
            raise ConfigError(f"the tokenizer treebank cannot run: {missing}; use words, alphanumeric or spaces")
        own = treebank_words({name: [text] for name, text in hypotheses.items()})
        others = treebank_words(references)
        return _Cut(ids, [own[name][0] for name in ids], [others[name] for name in ids])
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
    for one, other, what in ((hypotheses, references, "reference"), (references, hypotheses, "hypothesis")):
        missing = [name for name in one if name not in other]
        if missing:
            raise InputError(f"{len(missing)} ids have no {what}, the first is {missing[0]!r}; both need the same ids")
    empty = [name for name, texts in references.items() if not texts]
    if empty:
        raise InputError(f"{len(empty)} ids have no reference, the first is {empty[0]!r}; leave them out")


def _cider(cut: _Cut) -> CaptionScores:
    grams, document, is_hypothesis = cut.arrays()
    vectors = weighted(grams, inverse_document_frequency(grams, document, ~is_hypothesis))
    scores = consensus(vectors, document, is_hypothesis, ~is_hypothesis)[: len(cut.ids)]
    return _scores(cut, scores.tolist())


def _bleu(cut: _Cut) -> dict[int, CaptionScores]:
    grams, document, is_hypothesis = cut.arrays()
    counts = bleu_counts(grams, document, is_hypothesis)
    by_item, whole = bleu_of(counts), bleu_of(counts.total())[0]
    return {
        n + 1: CaptionScores(float(whole[n]), dict(zip(cut.ids, by_item[:, n].tolist(), strict=True)))
        for n in range(len(whole))
    }


def _rouge_l(cut: _Cut) -> CaptionScores:
    return _scores(cut, [rouge_l_of(*pair) for pair in zip(cut.hypotheses, cut.references, strict=True)])


def _meteor(cut: _Cut) -> CaptionScores | None:
    if java_missing() is not None:
        return None
    given, expected = dict(zip(cut.ids, cut.hypotheses, strict=True)), dict(zip(cut.ids, cut.references, strict=True))
    found = meteor_of(given, expected)
    return _scores(cut, [found[name] for name in cut.ids])


def _scores(cut: _Cut, values: list[float]) -> CaptionScores:
    return CaptionScores(float(np.mean(values)), dict(zip(cut.ids, values, strict=True)))
