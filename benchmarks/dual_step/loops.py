"""A dual encoder's training step as published implementations write it: loops over captions, broadcast similarities.

Bags of words are counted word by word, means over steps caption by caption, losses take probabilities, and the
generalised Jaccard holds (batch, batch, concepts) tensors. The layers are those of a `HybridEncoder`, so that both
compute the same numbers where no video is padded.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy, normalize
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from vtr_core.data.batches import FrameBatch
from vtr_core.nn.multi_level_encoding import TemporalLevels
from vtr_core.systems.dual.model import HybridEncoder


def loop_loss(
    model: HybridEncoder, batch: FrameBatch, labels: Tensor, margin: float = 0.2, weight: float | None = None
) -> Tensor:
    """L_lat + L_con + B · BCE, of rows of different videos with as many frames each."""
    (name,) = batch.frames
    lengths = [int(length) for length in batch.mask[name].sum(dim=1)]
    steps = batch.frames[name].float()
    video = torch.cat([batch.mean[name], _levels(model.frames.levels, model.frames.levels.gru(steps)[0], lengths)], 1)
    text = torch.cat(_sentences(model, batch.tokens), 1)
    spaces = []
    for heads, values in ((model.video_heads, video), (model.text_heads, text)):
        assert heads.latent is not None and heads.concept is not None  # noqa: PT018
        everyone = torch.ones(len(values), dtype=torch.bool, device=values.device)
        latent = heads.latent.dropout(heads.latent.norm(heads.latent.linear(values), everyone))
        concept = torch.sigmoid(heads.concept.norm(heads.concept.linear(values), everyone))
        spaces.append((normalize(latent, dim=1), concept))
    (video_latent, video_concept), (text_latent, text_concept) = spaces
    total = _triplets(video_latent @ text_latent.T, margin) + _triplets(_jaccard(video_concept, text_concept), margin)
    scale = len(labels) if weight is None else weight
    for probabilities in (video_concept, text_concept):
        total = total + scale * binary_cross_entropy(probabilities, labels)
    return total


def _sentences(model: HybridEncoder, tokens: Tensor) -> list[Tensor]:
    """Levels 1 to 3 of captions; the first is counted on the host, word by word."""
    words = model.words.num_words
    bags = torch.zeros(len(tokens), words)
    sequences = []
    for row, caption in enumerate(tokens.tolist()):
        kept = [token for token in caption if token]
        for token in kept:
            if token <= words:
                bags[row, token - 1] += 1
        sequences.append(torch.tensor([words + 1, *kept, words + 2]))
    lengths = [len(sequence) for sequence in sequences]
    padded = nn.utils.rnn.pad_sequence(sequences, batch_first=True).to(tokens.device)
    packed = pack_padded_sequence(model.words.vectors(padded), lengths, batch_first=True, enforce_sorted=False)
    hidden = pad_packed_sequence(model.words.levels.gru(packed)[0], batch_first=True)[0]
    return [bags.to(tokens.device), _levels(model.words.levels, hidden, lengths)]


def _levels(levels: TemporalLevels, hidden: Tensor, lengths: list[int]) -> Tensor:
    """Levels 2 and 3 of the GRU's outputs."""
    mean = torch.zeros(len(hidden), hidden.shape[2], device=hidden.device)
    for row, length in enumerate(lengths):
        mean[row] = hidden[row, :length].mean(dim=0)
    by_step, local = hidden.transpose(1, 2), []
    for convolution in levels.convolutions:
        responses = torch.relu(convolution(by_step))
        local.append(nn.functional.max_pool1d(responses, responses.shape[2]).squeeze(2))
    return torch.cat([levels.dropout(mean), levels.dropout(torch.cat(local, dim=1))], dim=1)


def _jaccard(video: Tensor, text: Tensor) -> Tensor:
    a, b = video.unsqueeze(1).expand(-1, len(text), -1), text.unsqueeze(0).expand(len(video), -1, -1)
    return torch.min(a, b).sum(-1) / torch.max(a, b).sum(-1)


def _triplets(scores: Tensor, margin: float) -> Tensor:
    own, diagonal = scores.diag().unsqueeze(1), torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    rows = (margin + scores - own.expand_as(scores)).clamp(min=0).masked_fill(diagonal, 0)
    columns = (margin + scores - own.T.expand_as(scores)).clamp(min=0).masked_fill(diagonal, 0)
    return rows.max(1)[0].sum() + columns.max(0)[0].sum()
