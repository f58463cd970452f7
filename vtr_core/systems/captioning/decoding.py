"""Caption decoding: beam search over [MASK], arithmetic sampling, minimum Bayes risk."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Float64, Int64, Shaped
from torch import Tensor

from vtr_core.nn.transformer import KeyValues
from vtr_core.systems.captioning.config import DecodingConfig
from vtr_core.systems.captioning.model import Captioner
from vtr_core.text.statistics import consensus, ngrams, weighted


@dataclass(frozen=True)
class Hypotheses:
    """Captions so far: `words` with the end token and padding 0 after it, their log p, and whether they have ended."""

    words: Int64[Tensor, "rows length"]
    score: Float[Tensor, " rows"]
    ended: Bool[Tensor, " rows"]
    past: list[KeyValues]
    """Keys and values of the video and of all words but the last."""
    known: Bool[Tensor, "rows frames"]

    def of(self, rows: Int64[Tensor, " chosen"]) -> "Hypotheses":
        """The hypotheses of these rows, which may repeat."""
        past = [layer.of(rows) for layer in self.past]
        return Hypotheses(self.words[rows], self.score[rows], self.ended[rows], past, self.known[rows])

    def times(self, count: int) -> "Hypotheses":
        """Every hypothesis `count` times, one after another."""
        return self.of(torch.arange(len(self.words), device=self.words.device).repeat_interleave(count))


def begun(
    model: Captioner, frames: Shaped[Tensor, "videos frames *values"], mask: Bool[Tensor, "videos frames"]
) -> Hypotheses:
    """A caption without words for every video; frames as `video_tokens` takes them."""
    tokens, known = model.video_tokens(frames, mask)
    attended = known.unsqueeze(1) | torch.eye(tokens.shape[1], dtype=torch.bool, device=known.device)
    _, past = model.go_on(tokens, attended, None)
    return Hypotheses(
        words=torch.zeros((len(frames), 0), dtype=torch.int64, device=known.device),
        score=torch.zeros(len(frames), device=known.device),
        ended=torch.zeros(len(frames), dtype=torch.bool, device=known.device),
        past=past,
        known=known,
    )


def log_probabilities(model: Captioner, so_far: Hypotheses) -> tuple[Float[Tensor, "rows words"], list[KeyValues]]:
    """Log-probabilities of the next word, and keys and values of all words so far, without [MASK]."""
    length = so_far.words.shape[1]
    masks = torch.full((len(so_far.words), 1), model.mask, device=so_far.words.device)
    tokens = torch.cat([so_far.words[:, -1:], masks], dim=1) if length else masks
    new = tokens.shape[1]
    before = so_far.past[0].keys.shape[2]
    words_before = so_far.known.new_ones(len(tokens), before - so_far.known.shape[1])
    earlier = torch.cat([so_far.known, words_before], dim=1).unsqueeze(1).expand(-1, new, -1)
    among = torch.ones((new, new), dtype=torch.bool, device=tokens.device).tril().expand(len(tokens), -1, -1)
    states, whole = model.go_on(
        model.text_tokens(tokens, max(0, length - 1)), torch.cat([earlier, among], dim=2), so_far.past
    )
    return model.logits(states[:, -1]).log_softmax(dim=1), [layer.first(before + new - 1) for layer in whole]


def forbid(log_p: Float[Tensor, "rows words"], model: Captioner, so_far: Hypotheses, decoding: DecodingConfig) -> None:
    """Excludes invalid next words from the candidates, in place."""
    log_p[:, 0] = log_p[:, model.mask] = -torch.inf
    if so_far.words.shape[1] < decoding.min_words:
        log_p[:, model.end] = -torch.inf
    if decoding.block_ngrams is None:
        return
    for row, words in enumerate(so_far.words.tolist()):
        log_p[row, repeated(words, decoding.block_ngrams)] = -torch.inf


def repeated(words: list[int], size: int) -> list[int]:
    """The words that would complete an n-gram of `size` words already in `words`."""
    start = tuple(words[len(words) - size + 1 :]) if size > 1 else ()
    if len(words) < size:
        return []
    return [words[i + size - 1] for i in range(len(words) - size + 1) if tuple(words[i : i + size - 1]) == start]


_LARGEST = 1 - 2**-50
"""The largest code: a code times the sum of all probabilities must stay below that sum, however it is rounded."""


@torch.no_grad()
def sample(
    model: Captioner,
    start: Hypotheses,
    codes: Float64[Tensor, "#videos samples"],
    temperature: float,
    decoding: DecodingConfig,
) -> Int64[Tensor, "videos samples said"]:
    """The caption at each code, where the captions of a video divide [0, 1) by their probabilities (Vilnis et al. 2023,
    "Arithmetic sampling: parallel diverse decoding for large language models").

    A word comes from softmax(log p / temperature): the first one covers the code, whose place in that word's part is
    the code of the rest. Uniform codes give independent draws, evenly spaced ones a fair share of all captions.
    start: a caption without words for every video; codes: in [0, 1), the same ones for all videos or each video's own.
    Captions end with the end token, padded with 0, or at `max_tokens` − 1 words; what beam search by `decoding`
    excludes is excluded.
    """
    videos, count = len(start.words), codes.shape[1]
    code = codes.to(start.score.device).expand(videos, -1).reshape(-1, 1)
    captions = start.times(count)
    while captions.words.shape[1] < model.config.max_tokens - 1 and not bool(captions.ended.all()):
        log_p, past = log_probabilities(model, captions)
        forbid(log_p, model, captions, decoding)
        p = (log_p / temperature).double().softmax(dim=1)
        reached = p.cumsum(dim=1)
        point = code.clamp(max=_LARGEST) * reached[:, -1:]
        word = torch.searchsorted(reached, point, right=True)
        own = p.gather(1, word)
        code = ((point - reached.gather(1, word) + own) / own).clamp(min=0)
        captions = _longer(replace(captions, past=past), word.squeeze(1).masked_fill(captions.ended, 0), model.end)
    return captions.words.view(videos, count, -1)


def _longer(captions: Hypotheses, word: Int64[Tensor, " rows"], end: int) -> Hypotheses:
    return replace(
        captions, words=torch.cat([captions.words, word.unsqueeze(1)], dim=1), ended=captions.ended | (word == end)
    )


def most_agreed(hypotheses: Sequence[Sequence[int]], judges: Sequence[Sequence[int]]) -> list[int]:
    """The hypothesis with the highest mean CIDEr-D with the judges; of equal ones the first.

    All n-grams have the same weight, instead of document frequencies.
    """
    captions = [*hypotheses, *judges]
    is_hypothesis = np.arange(len(captions)) < len(hypotheses)
    grams = ngrams(captions)
    vectors = weighted(grams, np.ones(grams.num_grams))
    gains = consensus(vectors, np.zeros(len(captions), np.int64), is_hypothesis, ~is_hypothesis)[is_hypothesis]
    return list(hypotheses[int(gains.argmax())])


@torch.no_grad()
def generate(
    model: Captioner,
    frames: Shaped[Tensor, "videos frames *values"],
    mask: Bool[Tensor, "videos frames"],
    decoding: DecodingConfig,
) -> list[list[int]]:
    """The word ids of a caption for every video, without the end token; at least `min_words` of them.

    frames: as `Captioner.video_tokens` takes them.

    Every word is predicted at a [MASK] appended to the words so far; [MASK] itself, padding, and words that would
    repeat an n-gram (`block_ngrams`) are excluded. The `beams` best hypotheses by log p / length^α are kept, the length
    including the end token. A hypothesis ends at `max_tokens` − 1 words. The caption is the best of them, or with
    `consensus_samples` the one that so many evenly spaced samples agree with most, see `most_agreed` and `sample`.
    """
    if not len(frames):
        return []
    start = begun(model, frames, mask)
    hypotheses = _searched(model, start, decoding)
    best = _normalised(hypotheses.score, hypotheses.words, decoding.length_penalty).view(-1, decoding.beams)
    candidates = hypotheses.words.view(len(frames), decoding.beams, -1)
    if not decoding.consensus_samples:
        chosen = best.argmax(dim=1).tolist()
        return [_words(model, each[place]) for each, place in zip(candidates.tolist(), chosen, strict=True)]
    order = best.argsort(dim=1, descending=True).tolist()
    judges = sample(model, start, _even(decoding.consensus_samples), decoding.sample_temperature, decoding)
    return [
        most_agreed([_words(model, beams[place]) for place in places], [_words(model, judge) for judge in heard])
        for beams, places, heard in zip(candidates.tolist(), order, judges.tolist(), strict=True)
    ]


def _even(count: int) -> Float64[Tensor, "1 count"]:
    """The middles of `count` equal parts of [0, 1)."""
    return (torch.arange(count, dtype=torch.float64).unsqueeze(0) + 0.5) / count


def _words(model: Captioner, row: list[int]) -> list[int]:
    return [word for word in row if word not in (0, model.end)]


def _searched(model: Captioner, start: Hypotheses, decoding: DecodingConfig) -> Hypotheses:
    """The hypotheses of every video that beam search ends with; `start`: one of each video."""
    beams = start.times(decoding.beams)
    beams.score.view(-1, decoding.beams)[:, 1:] = -torch.inf
    while beams.words.shape[1] < model.config.max_tokens - 1 and not bool(beams.ended.all()):
        beams = _next(model, beams, decoding)
    return beams


def _next(model: Captioner, beams: Hypotheses, decoding: DecodingConfig) -> Hypotheses:
    """Extends every hypothesis by one word and keeps the best; ended hypotheses are padded with 0."""
    log_p, past = log_probabilities(model, beams)
    forbid(log_p, model, beams, decoding)
    log_p[beams.ended] = -torch.inf
    log_p[beams.ended, 0] = 0.0
    rows, vocabulary = log_p.shape
    width = decoding.beams
    total = beams.score.unsqueeze(1) + log_p
    lengths = (beams.words != 0).sum(dim=1, keepdim=True) + (~beams.ended).unsqueeze(1)
    compared = (total / lengths.clamp(min=1) ** decoding.length_penalty).view(-1, width * vocabulary)
    place = compared.topk(width, dim=1).indices
    first = torch.arange(rows // width, device=place.device).unsqueeze(1) * width
    source, word = (first + place // vocabulary).flatten(), (place % vocabulary).flatten()
    return Hypotheses(
        words=torch.cat([beams.words[source], word.unsqueeze(1)], dim=1),
        score=total[source, word],
        ended=beams.ended[source] | (word == model.end),
        past=[layer.of(source) for layer in past],
        known=beams.known[source],
    )


def _normalised(
    score: Float[Tensor, " rows"], words: Int64[Tensor, "rows length"], penalty: float
) -> Float[Tensor, " rows"]:
    return score / (words != 0).sum(dim=1).clamp(min=1) ** penalty
