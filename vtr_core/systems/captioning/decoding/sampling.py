"""Random captions of a captioner, word by word from its probabilities."""

from dataclasses import replace

import torch
from jaxtyping import Int64
from torch import Tensor

from vtr_core.systems.captioning.config import DecodingConfig
from vtr_core.systems.captioning.decoding.hypotheses import Hypotheses, forbid, log_probabilities
from vtr_core.systems.captioning.model import Captioner

_SEED = 0


@torch.no_grad()
def sample(model: Captioner, start: Hypotheses, decoding: DecodingConfig) -> Int64[Tensor, "videos samples length"]:
    """`consensus_samples` captions for every video, each word from softmax(log p / `sample_temperature`).

    start: a caption without words for every video.
    Captions end with the end token, padded with 0, or at `max_tokens` − 1 words; what beam search excludes is excluded.
    All videos have the same random numbers, so that a video's captions do not depend on the others.
    """
    videos, count = len(start.words), decoding.consensus_samples
    said, generator = start.times(count), torch.Generator().manual_seed(_SEED)
    while said.words.shape[1] < model.config.max_tokens - 1 and not bool(said.ended.all()):
        log_p, past = log_probabilities(model, said)
        forbid(log_p, model, said, decoding)
        uniform = torch.rand((count, log_p.shape[1]), generator=generator).clamp(min=1e-30).to(log_p.device)
        gumbel = -(-uniform.log()).log()  # the largest of log p + Gumbel noise is a draw from p
        word = (log_p.view(videos, count, -1) / decoding.sample_temperature + gumbel).argmax(dim=2).flatten()
        word = torch.where(said.ended, 0, word)
        ended = said.ended | (word == model.end)
        said = replace(said, words=torch.cat([said.words, word.unsqueeze(1)], dim=1), ended=ended, past=past)
    return said.words.view(videos, count, -1)
