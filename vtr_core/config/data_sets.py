"""What training reads: several data sets as one, how their captions were made, batches of them, bad shards."""

import os
from collections.abc import Sequence
from typing import Any, Literal

from vtr_core.config.override import PositiveInt, Probability, Settings
from vtr_core.config.pretrained import TextEncoder
from vtr_core.errors import ConfigError

JOINED, TIMES = " + ", " * "


def joined_uris(uri: str) -> list[str]:
    """The URIs of "2 * A + B", or the one that it is: a folder that is there is one, whatever its name."""
    return [_weight_and_uri(part)[1] for part in _parts(uri)]


def _parts(uri: str) -> list[str]:
    return [uri] if os.path.exists(uri) else uri.split(JOINED)


def joined_weights(uri: str) -> list[int]:
    """How often each data set of "2 * A + B" comes in an epoch: [2, 1]; ConfigError for a weight below 1."""
    weights = [_weight_and_uri(part)[0] for part in _parts(uri)]
    if min(weights) < 1:
        raise ConfigError(
            f"{uri}: a data set's weight is 0; weights are whole numbers of 1 or more: leave that one out"
        )
    if len(weights) == 1 and weights[0] > 1:
        raise ConfigError(f"{uri}: a weight says how often a data set comes beside others; there is no other")
    return weights


def joined(uris: Sequence[str], weights: Sequence[int]) -> str:
    """The data sets with their weights as one text, of which weights of 1 are left out."""
    return JOINED.join(
        uri if weight == 1 else f"{weight}{TIMES}{uri}" for uri, weight in zip(uris, weights, strict=True)
    )


def weighted(uri: str, weights: Sequence[int]) -> str:
    """The data sets of "A + B" with the weights given for them; unchanged without any.

    ConfigError for another number of weights than data sets, weights below 1, and weights given twice.
    """
    if not weights:
        return uri
    parts = joined_uris(uri)
    if joined_weights(uri) != [1] * len(parts):
        raise ConfigError(f"--data {uri} has weights already; leave out --data-weights")
    if len(weights) != len(parts) or min(weights) < 1:
        shown = " ".join(map(str, weights))
        raise ConfigError(
            f"--data-weights {shown}: {len(parts)} data sets need {len(parts)} whole numbers of 1 or more"
        )
    data_sets = joined(parts, weights)
    joined_weights(data_sets)
    return data_sets


def _weight_and_uri(part: str) -> tuple[int, str]:
    weight, times, uri = part.partition(TIMES)
    return (int(weight), uri) if times and weight.isdecimal() and not os.path.exists(part) else (1, part)


class BatchConfig(Settings):
    """A global batch, whatever the number of workers."""

    videos: PositiveInt = 128
    """Videos in a batch."""
    clips_per_video: PositiveInt = 32
    """Clips sampled per video, or captions where rows are whole videos; with replacement where a video has fewer."""
    candidates: PositiveInt = 1
    """Captions in a clip's bag (mil_nce): its own and the nearest in time of its video."""
    max_frames: PositiveInt = 64
    """Maximum number of frames of a video, from its start, where rows are whole videos; the mean is over all frames."""
    micro_rows: PositiveInt | None = None
    """Rows per forward pass of a worker (gradient caching); None: all rows at once."""
    window: PositiveInt = 4
    """Shuffling window in batches: videos are shuffled within windows, row groups over the whole epoch."""

    captions: Literal["drawn", "every"] = "drawn"
    """Where rows are whole videos: `drawn`, anew in every epoch, so that 20 epochs see 64 % of 20 captions; `every`, in
    turn over the epochs, so that as many epochs as a video has captions see each of them once, as a published epoch
    does."""
    epoch: Literal["videos", "captions"] = "videos"
    """What an epoch passes over once: the videos, or, where rows are whole videos, their captions, as a published epoch
    does. By captions each of several data sets has a share of the rows by its captions, and a video comes as often as
    it has captions, each once, spread over the epoch.
    """
    remainder: Literal["dropped", "filled"] = "dropped"
    """What becomes of the videos at an epoch's end that make no full batch: they wait for the next epoch, or the
    epoch's first videos fill their batch."""

    @property
    def rows(self) -> int:
        """Clips in a global batch."""
        return self.videos * self.clips_per_video


OnBadShard = Literal["fail", "skip"]


Tokenizer = Literal["words", "alphanumeric"]
"""What cuts a caption into words: runs of letters of any alphabet with their marks, digits and apostrophes, and
ICU's words where a script has no spaces; or runs of A–Z, a–z, 0–9.
"""
TextUnit = Tokenizer | Literal["utf8"]
"""What a caption reaches a model as: its words, or, for a pretrained text encoder with a tokenizer of its own, the
bytes of the text in UTF-8.
"""
UnknownWords = Literal["dropped", "token"]
"""What becomes of words outside the vocabulary: they are dropped, or each one is `<unk>`."""
Ambiguity = Literal["caption", "corpus"]
"""What makes a caption ambiguous: a lemma of two parts of speech in it (thesis, section 3.3.2), or a word that the
corpus uses as more than one.
"""
LabelCount = Literal["occurrences", "captions"]
"""What the label of a video counts: occurrences of a concept in its captions, as the thesis (section 3.2.1) and the
published code do, or captions that mention it.
"""
StopWords = Literal["short", "nltk"]
"""Words that name no concept: our short list of function words, or NLTK's list of 2021."""


class CaptionText(Settings):
    """What a preset asks of its training data; None leaves it open."""

    tokenizer: Tokenizer | None = None
    """What cuts captions into words."""
    min_count: PositiveInt | None = None
    """Occurrences in the training captions that a word needs."""
    unknown: UnknownWords | None = None
    """What becomes of other words."""
    uncut: bool | None = None
    """Whether captions are kept to their last word."""
    tagged: bool | None = None
    """Whether words carry their part of speech, `measure/verb`, by any tagger."""
    vectors: bool | None = None
    """Whether words have given vectors, of word2vec or GloVe."""

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, by name."""
        return self.model_dump(exclude_none=True)


class ConceptText(Settings):
    """What a preset asks of its concept table; None leaves it open."""

    parts: str | None = None
    """Letters of the parts of speech that concepts are, such as n,v,j."""
    pos: bool | None = None
    """Whether a concept's name has its part of speech."""
    stop_words: StopWords | None = None
    """The list of words that name no concept."""

    @property
    def asked(self) -> dict[str, Any]:
        """What is asked, by name."""
        return self.model_dump(exclude_none=True)


PUBLISHED_CAPTIONS = CaptionText(tokenizer="alphanumeric", min_count=5, unknown="token", uncut=True, vectors=True)
"""As the published code of dual encoding makes them (github.com/danieljf24/hybrid_space, util/vocab.py)."""
MSRVTT_CAPTIONS = 20
"""Captions of a video of MSR-VTT. A published epoch is a pass over all captions, ours over all videos."""


ConceptSimilarity = Literal["jaccard", "cosine"]
"""Of a concept space that was trained."""
Comparison = Literal["jaccard", "cosine", "dot"]
"""Also of a pretrained encoder, whose similarity is Σ_i z_i q_i over the concepts that it names."""


class WordEncoderConfig(Settings):
    """Caption words to one vector: word vectors, a linear layer with ReLU, pooling under the padding mask."""

    encoder: TextEncoder = None
    """A pretrained encoder whose vectors of tokens, which are not trained, take the place of word vectors."""
    hidden_dim: PositiveInt = 4096
    """Width of the linear layer."""
    pooling: Literal["max", "mean", "max_mean"] = "max"
    """Pooling over words; `max_mean` concatenates both, twice as wide."""
    word_dropout: Probability = 0.0
    """Share of words dropped in training (never all of a caption)."""
    layer_norm: bool = False
    """Apply LayerNorm to the pooled words. Maxima over words are positive and similar for all captions; without the
    norm they dominate the input of the next layer."""
    dropout: Probability = 0.0
    """Dropout on the pooled words."""
    train_vectors: bool = False
    """Train the word vectors too. A vocabulary without given vectors is always trained."""
