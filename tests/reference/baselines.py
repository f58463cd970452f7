"""The models without capsules, one row at a time."""

import torch

from tests.reference.routing import attention


def _linear(layer, x):
    return layer.weight @ x + layer.bias


def gated_unit(unit, vector):
    """y times the sigmoid of a linear map of y, number by number (Miech et al. 2018, context gating)."""
    first, gate = unit.linear, unit.gate
    y = [
        sum(w * x for w, x in zip(row, vector, strict=True)) + b
        for row, b in zip(first.weight, first.bias, strict=True)
    ]
    logits = [
        sum(w * v for w, v in zip(row, y, strict=True)) + b for row, b in zip(gate.weight, gate.bias, strict=True)
    ]
    return torch.stack([v / (1 + torch.exp(-z)) for v, z in zip(y, logits, strict=True)])


def fully_connected(layers, vector):
    """Two linear layers with ReLU between them."""
    return _linear(layers[2], _linear(layers[0], vector).clamp(min=0))


def token_attention(module, vector):
    """Pieces of the vector attend to each other, are put side by side and projected."""
    width = -(-len(vector) // module.num_tokens)
    padded = torch.zeros(width * module.num_tokens, dtype=vector.dtype)
    padded[: len(vector)] = vector
    tokens = [_linear(module.embed, padded[i * width : (i + 1) * width]) for i in range(module.num_tokens)]
    queries, keys, values = zip(*(_linear(module.query_key_value, token).chunk(3) for token in tokens), strict=True)
    found = attention(queries, keys, values, module.num_heads)
    summed = [token + _linear(module.attended, own) for token, own in zip(tokens, found, strict=True)]
    return _linear(module.linear, torch.cat(summed))
