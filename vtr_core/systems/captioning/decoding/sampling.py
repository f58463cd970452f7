"""Captions of a captioner by arithmetic sampling: each is decoded from a number between 0 and 1."""

from dataclasses import replace

import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from vtr_core.systems.captioning.config import DecodingConfig
from vtr_core.systems.captioning.decoding.hypotheses import Hypotheses, forbid, log_probabilities
from vtr_core.systems.captioning.model import Captioner

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
    said = start.times(count)
    while said.words.shape[1] < model.config.max_tokens - 1 and not bool(said.ended.all()):
        log_p, past = log_probabilities(model, said)
        forbid(log_p, model, said, decoding)
        p = (log_p / temperature).double().softmax(dim=1)
        reached = p.cumsum(dim=1)
        point = code.clamp(max=_LARGEST) * reached[:, -1:]
        word = torch.searchsorted(reached, point, right=True)
        own = p.gather(1, word)
        code = ((point - reached.gather(1, word) + own) / own).clamp(min=0)
        said = _longer(replace(said, past=past), word.squeeze(1).masked_fill(said.ended, 0), model.end)
    return said.words.view(videos, count, -1)


def _longer(said: Hypotheses, word: Int64[Tensor, " rows"], end: int) -> Hypotheses:
    return replace(said, words=torch.cat([said.words, word.unsqueeze(1)], dim=1), ended=said.ended | (word == end))
