"""Capsule layers one row and one capsule at a time, from the parameters of the modules under test."""

import torch
from torch.nn.functional import gelu, layer_norm


def _linear(layer, x):
    return layer.weight @ x + layer.bias


def _mlp(layers, x):
    return _linear(layers[2], gelu(_linear(layers[0], x)))


def _norm(layer, x):
    return layer_norm(x, x.shape, layer.weight, layer.bias)


def _softmax(values):
    exponentials = [torch.exp(value - max(values)) for value in values]
    return [value / sum(exponentials) for value in exponentials]


def primary(module, feature, pose_dim):
    """(poses, activations) of one feature vector, capsule after capsule."""
    values = _linear(module.linear, feature)
    poses, activations = [], []
    for i in range(module.num_capsules):
        own = values[i * (pose_dim + 1) : (i + 1) * (pose_dim + 1)]
        poses.append(own[:-1])
        activations.append(1 / (1 + torch.exp(-own[-1])))
    return poses, activations


def self_attention(module, poses, activations):
    """Secondary (poses, activations) of one row."""
    inputs = [pose * activation for pose, activation in zip(poses, activations, strict=True)]
    query, key, value = (
        [_linear(layers[1], _linear(layers[0], x)) for x in inputs]
        for layers in (module.query, module.key, module.value)
    )
    width = len(query[0]) // module.num_heads
    routed = []
    for i in range(len(inputs)):
        heads = []
        for head in range(module.num_heads):
            own = slice(head * width, (head + 1) * width)
            weights = _softmax([query[i][own] @ key[j][own] / width**0.5 for j in range(len(inputs))])
            heads.append(sum(weight * value[j][own] for j, weight in enumerate(weights)))
        vote = torch.cat(heads)
        routed.append(_norm(module.norm_poses, vote + _mlp(module.mlp, _norm(module.norm_votes, vote))))
    return routed, _softmax(_logits(module.activations, routed, activations))


def unrouted(module, poses, activations):
    """The same without routing."""
    inputs = [pose * activation for pose, activation in zip(poses, activations, strict=True)]
    routed = [_norm(module.norm_poses, _mlp(module.mlp, x)) for x in inputs]
    return routed, _softmax(_logits(module.activations, routed, activations))


def _logits(module, routed, activations):
    """Of the secondary activations of one row."""
    logits = [_linear(module.linear, pose)[0] for pose in routed]
    return [z + module.carried_presence * torch.log(p) for z, p in zip(logits, activations, strict=True)]


def project(module, poses, activations):
    """The embedding of one row."""
    weighted = [module.scale * pose * activation for pose, activation in zip(poses, activations, strict=True)]
    return _linear(module.linear, torch.cat(weighted))
