"""Iterated and set-based capsule routings one row, one capsule and one component at a time."""

import math

import torch
from torch.nn.functional import layer_norm


def _linear(layer, x):
    return layer.weight @ x + layer.bias


def _norm(layer, x):
    return layer_norm(x, x.shape, layer.weight, layer.bias)


def _softmax(values):
    exponentials = [torch.exp(value - max(values)) for value in values]
    return [value / sum(exponentials) for value in exponentials]


def _weighted(poses, activations):
    return [pose * activation for pose, activation in zip(poses, activations, strict=True)]


def _secondary(module, poses):
    return poses, _softmax([_linear(module.activations.linear, pose)[0] for pose in poses])


@torch.no_grad()
def squash(vector):
    length = math.sqrt(sum(float(x) ** 2 for x in vector))
    return vector * 0 if length == 0 else vector / length * (length**2 / (1 + length**2))


@torch.no_grad()
def dynamic(module, poses, activations):
    """Procedure 1 of Sabour et al., line by line; secondary (poses, activations) of one row."""
    inputs, count = _weighted(poses, activations), len(poses)
    votes = [[inputs[i] @ module.weight[i, j] for j in range(count)] for i in range(count)]
    logits = [[torch.zeros((), dtype=poses.dtype) for _ in range(count)] for _ in range(count)]
    for _ in range(module.num_iterations):
        coupling = [_softmax(row) for row in logits]
        routed = [squash(sum(coupling[i][j] * votes[i][j] for i in range(count))) for j in range(count)]
        for i in range(count):
            for j in range(count):
                logits[i][j] = logits[i][j] + module.agreement_scale * (votes[i][j] @ routed[j])
    return _secondary(module, routed)


@torch.no_grad()
def em(module, poses, activations):
    """Procedure 1 of Hinton et al. with densities as plain products, no logarithms; one row."""
    count, side = len(poses), module.side
    votes = [
        [(poses[i].reshape(side, side) @ module.weight[i, j]).reshape(-1) for j in range(count)] for i in range(count)
    ]
    assigned = [[1 / count for _ in range(count)] for _ in range(count)]
    for iteration in range(1, module.num_iterations + 1):
        temperature = module.inverse_temperature * iteration / module.num_iterations
        means, variances, found = [], [], []
        for j in range(count):
            weights = [assigned[i][j] * float(activations[i]) for i in range(count)]
            total = sum(weights)
            mean = sum(weights[i] * votes[i][j] for i in range(count)) / (total + 1e-6)
            variance = sum(weights[i] * (votes[i][j] - mean) ** 2 for i in range(count)) / (total + 1e-6) + 1e-4
            costs = [total * (float(module.variance_cost[j]) + math.log(math.sqrt(v))) for v in variance]
            cost = sum(costs) if module.components == "sum" else sum(costs) / len(costs)
            found.append(1 / (1 + math.exp(-temperature * (float(module.activation_cost[j]) - cost))))
            means.append(mean)
            variances.append(variance)
        for i in range(count):
            densities = [_density(votes[i][j], means[j], variances[j]) for j in range(count)]
            if module.components == "mean":
                densities = [density ** (1 / side**2) for density in densities]
            weighted = [activation * density for activation, density in zip(found, densities, strict=True)]
            assigned[i] = [value / sum(weighted) for value in weighted]
    return means, [torch.tensor(value, dtype=poses.dtype) for value in found]


def _density(vote, mean, variance):
    density = 1.0
    for h in range(len(vote)):
        exponent = -((float(vote[h]) - float(mean[h])) ** 2) / (2 * float(variance[h]))
        density *= math.exp(exponent) / math.sqrt(2 * math.pi * float(variance[h]))
    return density


def attention(queries, keys, values, num_heads):
    """What each query finds, head after head."""
    width = len(queries[0]) // num_heads
    found = []
    for query in queries:
        heads = []
        for head in range(num_heads):
            own = slice(head * width, (head + 1) * width)
            weights = _softmax([query[own] @ key[own] / math.sqrt(width) for key in keys])
            heads.append(sum(weight * value[own] for weight, value in zip(weights, values, strict=True)))
        found.append(torch.cat(heads))
    return found


def _attention_block(block, queries, items):
    dim = len(queries[0])
    both = [_linear(block.key_value, item) for item in items]
    keys, values = [each[:dim] for each in both], [each[dim:] for each in both]
    found = attention([_linear(block.query, query) for query in queries], keys, values, block.num_heads)
    out = []
    for query, own in zip(queries, found, strict=True):
        attended = _norm(block.norm_attended, query + own)
        out.append(_norm(block.norm_out, attended + _linear(block.feed_forward, attended).clamp(min=0)))
    return out


def set_transformer(module, poses, activations):
    """The seeds of Lee et al. over one row's capsules."""
    items = [_linear(module.embed, x) for x in _weighted(poses, activations)]
    items = _attention_block(module.primary_block, items, items)
    return _secondary(module, _attention_block(module.seed_block, list(module.seeds), items))
