"""Random captions of a captioner, word by word from its probabilities."""

from dataclasses import replace

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from vtr_core.systems.captioning.config import DecodingConfig
from vtr_core.systems.captioning.decoding.hypotheses import Hypotheses, forbid, log_probabilities
from vtr_core.systems.captioning.model import Captioner


@torch.no_grad()
def sample(
    model: Captioner,
    start: Hypotheses,
    numbers: Float[Tensor, "#videos samples length"],
    temperature: float,
    decoding: DecodingConfig,
) -> Int64[Tensor, "videos samples said"]:
    """Captions of every video, each word from softmax(log p / temperature).

    start: a caption without words for every video; numbers: uniform ones in [0, 1), of which each decides a word, the
    same ones for all videos or each video's own. Captions end with the end token, padded with 0, or at `length` words;
    what beam search by `decoding` excludes is excluded.
    """
    videos, (_, count, length) = len(start.words), numbers.shape
    each = numbers.expand(videos, -1, -1).flatten(0, 1).to(start.score.device, torch.float64)
    said = start.times(count)
    while said.words.shape[1] < length and not bool(said.ended.all()):
        log_p, past = log_probabilities(model, said)
        forbid(log_p, model, said, decoding)
        reached = (log_p / temperature).softmax(dim=1).double().cumsum(dim=1)
        wanted = each[:, said.words.shape[1], None] * reached[:, -1:]
        word = torch.searchsorted(reached, wanted, right=True).squeeze(1).masked_fill(said.ended, 0)
        ended = said.ended | (word == model.end)
        said = replace(said, words=torch.cat([said.words, word.unsqueeze(1)], dim=1), ended=ended, past=past)
    return said.words.view(videos, count, -1)
