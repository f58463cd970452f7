"""Dual encoding as published, for one video and one caption, from weights by their published names.

Written from the equations; slow and obvious.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

State = Mapping[str, Tensor]


def spaces(encoder: State, heads: State, values: Tensor, level_1: Tensor) -> tuple[Tensor, Tensor]:
    """The unit vector and the concept scores of one sequence (steps, dim), whose level 1 is given."""
    hidden_dim = encoder["rnn.weight_hh_l0"].shape[1]
    gru = nn.GRU(values.shape[1], hidden_dim, batch_first=True, bidirectional=True)
    gru.load_state_dict({name.removeprefix("rnn."): t for name, t in encoder.items() if name.startswith("rnn.")})
    with torch.no_grad():
        hidden = gru(values[None])[0][0]
    level_2, level_3 = hidden.mean(dim=0), []
    for i in range(sum(name.endswith(".weight") for name in encoder if name.startswith("convs1."))):
        kernel, bias = encoder[f"convs1.{i}.weight"], encoder[f"convs1.{i}.bias"]
        width = kernel.shape[2]
        nothing = torch.zeros(width - 1, hidden.shape[1])
        padded = torch.cat([nothing, hidden, nothing])
        windows = [padded[first : first + width] for first in range(len(padded) - width + 1)]
        responses = [(kernel[:, 0] * window).sum(dim=(1, 2)) + bias for window in windows]
        level_3.append(torch.stack(responses).clamp(min=0).amax(dim=0))
    together = torch.cat([level_2, *level_3, level_1])
    latent = _norm(heads, "mapping.bn_1", heads["mapping.fc1.weight"] @ together + heads["mapping.fc1.bias"])
    concept = _norm(heads, "tag_fc_batch_norm", heads["tag_fc.weight"] @ together + heads["tag_fc.bias"])
    return latent / latent.norm(), concept


def _norm(heads: State, name: str, values: Tensor) -> Tensor:
    scaled = (values - heads[f"{name}.running_mean"]) / (heads[f"{name}.running_var"] + 1e-5).sqrt()
    return scaled * heads[f"{name}.weight"] + heads[f"{name}.bias"]


def text_level_1(words: Sequence[int], num_words: int) -> Tensor:
    """Counts of the words, numbered from 0."""
    return torch.tensor([float(list(words).count(word)) for word in range(num_words)])
