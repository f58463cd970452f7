"""Caption decoding: beam search over [MASK] with a key-value cache."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Tensor

from vtr_core.nn.transformer import KeyValues
from vtr_core.systems.captioning.config import DecodingConfig
from vtr_core.systems.captioning.model import Captioner


@dataclass(frozen=True)
class _Beams:
    """Hypotheses: `words` with the end token and padding 0 after it, their log p, and whether they have ended."""

    words: Int64[Tensor, "rows length"]
    score: Float[Tensor, " rows"]
    ended: Bool[Tensor, " rows"]
    past: list[KeyValues]
    """Keys and values of the video and of all words but the last."""
    known: Bool[Tensor, "rows frames"]


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
    including the end token; the best of them is the caption. A hypothesis ends at `max_tokens` − 1 words.
    """
    if not len(frames):
        return []
    width, last = decoding.beams, model.config.max_tokens - 1
    tokens, known = model.video_tokens(frames, mask)
    length = tokens.shape[1]
    seen = known.unsqueeze(1) | torch.eye(length, dtype=torch.bool, device=known.device)
    _, past = model.go_on(tokens, seen, None)
    rows = torch.arange(len(frames), device=known.device).repeat_interleave(width)
    score = torch.full((len(frames), width), -torch.inf, device=known.device)
    score[:, 0] = 0.0
    beams = _Beams(
        words=torch.zeros((len(rows), 0), dtype=torch.int64, device=known.device),
        score=score.flatten(),
        ended=torch.zeros(len(rows), dtype=torch.bool, device=known.device),
        past=[one.of(rows) for one in past],
        known=known[rows],
    )
    while beams.words.shape[1] < last and not bool(beams.ended.all()):
        beams = _next(model, beams, decoding)
    best = _normalised(beams.score, beams.words, decoding.length_penalty).view(-1, width).argmax(dim=1)
    chosen = beams.words.view(-1, width, beams.words.shape[1])[torch.arange(len(best), device=best.device), best]
    return [[word for word in row if word not in (0, model.end)] for row in chosen.tolist()]


def _next(model: Captioner, beams: _Beams, decoding: DecodingConfig) -> _Beams:
    """Extends every hypothesis by one word and keeps the best; ended hypotheses are padded with 0."""
    log_p, past = _log_probabilities(model, beams)
    _forbid(log_p, model, beams, decoding)
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
    return _Beams(
        words=torch.cat([beams.words[source], word.unsqueeze(1)], dim=1),
        score=total[source, word],
        ended=beams.ended[source] | (word == model.end),
        past=[one.of(source) for one in past],
        known=beams.known[source],
    )


def _log_probabilities(model: Captioner, beams: _Beams) -> tuple[Float[Tensor, "rows words"], list[KeyValues]]:
    """Log-probabilities of the next word, and keys and values of all words so far, without [MASK]."""
    said = beams.words.shape[1]
    asked = torch.full((len(beams.words), 1), model.mask, device=beams.words.device)
    tokens = torch.cat([beams.words[:, -1:], asked], dim=1) if said else asked
    new = tokens.shape[1]
    before = beams.past[0].keys.shape[2]
    words_before = beams.known.new_ones(len(tokens), before - beams.known.shape[1])
    earlier = torch.cat([beams.known, words_before], dim=1).unsqueeze(1).expand(-1, new, -1)
    among = torch.ones((new, new), dtype=torch.bool, device=tokens.device).tril().expand(len(tokens), -1, -1)
    states, whole = model.go_on(
        model.text_tokens(tokens, max(0, said - 1)), torch.cat([earlier, among], dim=2), beams.past
    )
    return model.logits(states[:, -1]).log_softmax(dim=1), [one.first(before + new - 1) for one in whole]


def _forbid(log_p: Float[Tensor, "rows words"], model: Captioner, beams: _Beams, decoding: DecodingConfig) -> None:
    """Excludes invalid next words from the candidates, in place."""
    log_p[:, 0] = log_p[:, model.mask] = -torch.inf
    if beams.words.shape[1] < decoding.min_words:
        log_p[:, model.end] = -torch.inf
    if decoding.block_ngrams is None:
        return
    for row, words in enumerate(beams.words.tolist()):
        log_p[row, repeated(words, decoding.block_ngrams)] = -torch.inf


def repeated(words: list[int], size: int) -> list[int]:
    """The words that would complete an n-gram of `size` words already in `words`."""
    start = tuple(words[len(words) - size + 1 :]) if size > 1 else ()
    if len(words) < size:
        return []
    return [words[i + size - 1] for i in range(len(words) - size + 1) if tuple(words[i : i + size - 1]) == start]


def _normalised(
    score: Float[Tensor, " rows"], words: Int64[Tensor, "rows length"], penalty: float
) -> Float[Tensor, " rows"]:
    return score / (words != 0).sum(dim=1).clamp(min=1) ** penalty
