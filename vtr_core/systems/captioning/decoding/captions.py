"""Caption decoding: beam search over [MASK], or the beam that samples of the model agree with most."""

import torch
from jaxtyping import Bool, Float, Float64, Int64, Shaped
from torch import Tensor

from vtr_core.systems.captioning.config import DecodingConfig
from vtr_core.systems.captioning.decoding.consensus import most_agreed
from vtr_core.systems.captioning.decoding.hypotheses import Hypotheses, begun, forbid, log_probabilities
from vtr_core.systems.captioning.decoding.sampling import sample
from vtr_core.systems.captioning.model import Captioner


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
    found = _searched(model, start, decoding)
    best = _normalised(found.score, found.words, decoding.length_penalty).view(-1, decoding.beams)
    told = found.words.view(len(frames), decoding.beams, -1)
    if not decoding.consensus_samples:
        chosen = best.argmax(dim=1).tolist()
        return [_words(model, each[place]) for each, place in zip(told.tolist(), chosen, strict=True)]
    order = best.argsort(dim=1, descending=True).tolist()
    judges = sample(model, start, _even(decoding.consensus_samples), decoding.sample_temperature, decoding)
    return [
        most_agreed([_words(model, beams[place]) for place in places], [_words(model, judge) for judge in heard])
        for beams, places, heard in zip(told.tolist(), order, judges.tolist(), strict=True)
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
        past=[one.of(source) for one in past],
        known=beams.known[source],
    )


def _normalised(
    score: Float[Tensor, " rows"], words: Int64[Tensor, "rows length"], penalty: float
) -> Float[Tensor, " rows"]:
    return score / (words != 0).sum(dim=1).clamp(min=1) ** penalty
