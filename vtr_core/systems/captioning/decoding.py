"""Caption decoding: beam search over [MASK]."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int64, Shaped
from torch import Tensor

from vtr_core.nn.transformer import KeyValues
from vtr_core.systems.captioning.config import DecodingConfig
from vtr_core.systems.captioning.model import Captioner


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


@torch.no_grad()
def generate(
    model: Captioner,
    frames: Shaped[Tensor, "videos frames *values"],
    mask: Bool[Tensor, "videos frames"],
    decoding: DecodingConfig,
) -> list[list[int]]:
    """The word ids of a caption for every video, without the end token; at least one.

    frames: as `Captioner.video_tokens` takes them.

    Every word is predicted at a [MASK] appended to the words so far; [MASK] itself and padding are excluded. The
    `beams` best hypotheses by log p / length^α are kept, the length including the end token. A hypothesis ends at
    `max_tokens` − 1 words. The caption is the best of them.
    """
    if not len(frames):
        return []
    beams = begun(model, frames, mask).times(decoding.beams)
    beams.score.view(-1, decoding.beams)[:, 1:] = -torch.inf
    while beams.words.shape[1] < model.config.max_tokens - 1 and not bool(beams.ended.all()):
        beams = _next(model, beams, decoding)
    normalised = beams.score / (beams.words != 0).sum(dim=1).clamp(min=1) ** decoding.length_penalty
    chosen = normalised.view(-1, decoding.beams).argmax(dim=1).tolist()
    captions = beams.words.view(len(frames), decoding.beams, -1).tolist()
    return [
        [word for word in candidates[place] if word not in (0, model.end)]
        for candidates, place in zip(captions, chosen, strict=True)
    ]


def _next(model: Captioner, beams: Hypotheses, decoding: DecodingConfig) -> Hypotheses:
    """Extends every hypothesis by one word and keeps the best; ended hypotheses are padded with 0."""
    log_p, past = log_probabilities(model, beams)
    log_p[:, 0] = log_p[:, model.mask] = -torch.inf
    if not beams.words.shape[1]:
        log_p[:, model.end] = -torch.inf  # no caption is empty
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
