"""Captions by running the whole transformer over the whole sentence for every word, one sentence at a time."""

import torch
from torch import Tensor

from vtr_core.systems.captioning.config import DecodingConfig
from vtr_core.systems.captioning.model import Captioner, sequence_mask


def next_word(model: Captioner, frames: Tensor, mask: Tensor, words: list[int]) -> list[float]:
    """log p of every word after `words`; one video."""
    video, known = model.video_tokens(frames.unsqueeze(0), mask.unsqueeze(0))
    told = model.text_tokens(torch.tensor([[*words, model.mask]]))
    seen = sequence_mask(known, len(words) + 1)
    tokens = torch.cat([video, told], dim=1)
    for block in model.blocks:
        tokens = block(tokens, seen)
    return model.logits(model.norm(tokens))[0, -1].log_softmax(dim=0).tolist()


@torch.no_grad()
def generate(model: Captioner, frames: Tensor, mask: Tensor, decoding: DecodingConfig) -> list[int]:
    beams: list[tuple[list[int], float, bool]] = [([], 0.0, False)]
    for _ in range(model.config.max_tokens - 1):
        longer = []
        for words, score, ended in beams:
            if ended:
                longer.append((words, score, True))
                continue
            scores = next_word(model, frames, mask, words)
            # p of the words that are left is not renormalised.
            for word, log_p in enumerate(scores):
                if word not in (0, model.mask) and (words or word != model.end):
                    longer.append(([*words, word], score + log_p, word == model.end))
        longer.sort(key=lambda beam: -beam[1] / len(beam[0]) ** decoding.length_penalty)
        beams = longer[: decoding.beams]
    best = max(beams, key=lambda beam: beam[1] / len(beam[0]) ** decoding.length_penalty)
    return [word for word in best[0] if word != model.end]
