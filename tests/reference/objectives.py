"""Every objective by loops: groups of modalities, rows that have them, weights, and the loss of scalar tensors."""

from itertools import combinations

import torch

from tests.reference import losses
from vtr_core.config.losses import (
    AdaptiveMargin,
    InfoNceConfig,
    MaskedMarginSoftmaxConfig,
    MaxMarginRankingConfig,
    MilNceConfig,
    SigmoidConfig,
    WeightSameVideo,
)

ORDER = ["text", "video", "audio"]


def by_pair(config, embeddings, keys, margin, parameters):
    """Losses by group. `margin` is the number of the step; `parameters` the values that are learned, by name."""
    names = [name for name in ORDER if name in embeddings.vectors]
    return {
        "_".join(pair): _group(config, embeddings, keys, margin, parameters, pair) for pair in combinations(names, 2)
    }


def _group(config, embeddings, keys, margin, parameters, held):
    present = embeddings.present
    rows = [row for row in range(len(keys.clip)) if all(present[name][row] for name in held)]
    if len(rows) < 2:
        return torch.zeros((), dtype=torch.float64)
    sides = [[list(embeddings.vectors[name][row]) for row in rows] for name in held]
    kind = config.same_video
    rate = kind.hard_rate if isinstance(kind, WeightSameVideo) else None
    key = [[int(values[row]) for row in rows] for values in (keys.clip, keys.caption, keys.video)]
    weights = losses.negative_weights(*key, kind.kind, rate)
    turned = [list(column) for column in zip(*weights, strict=True)]
    match config:
        case MaskedMarginSoftmaxConfig():
            similarity = _matrix(losses.dot, *sides)
            margins = [margin] * len(rows)
            if isinstance(config.margin, AdaptiveMargin):
                margins = [_adaptive(row, i, config.margin.scale) for i, row in enumerate(similarity)]
            return losses.masked_margin_softmax(similarity, margins, weights, turned)
        case InfoNceConfig():
            scale = _scale(config, parameters)
            similarity = _matrix(lambda a, b: scale * _cosine(a, b), *sides)
            if config.positives == "same_caption":
                return _mean_over_positives(similarity, weights, key[0], key[1])
            return losses.masked_margin_softmax(similarity, [0.0] * len(rows), weights, turned)
        case MaxMarginRankingConfig():
            own = [weights[i][i] for i in range(len(rows))]
            return losses.max_margin_ranking(_matrix(_cosine, *sides), config.margin, weights, turned, own)
        case SigmoidConfig():
            scale, bias = parameters["log_scale"].exp(), parameters["bias"]
            return losses.sigmoid_contrastive(_matrix(_cosine, *sides), scale, bias, weights)
        case MilNceConfig():
            if held[0] != "text":
                return losses.mil_nce(*sides, 1, weights, turned)
            texts, bag = [], 1
            for row, text in zip(rows, sides[0], strict=True):
                more = [] if embeddings.candidates is None else [list(other) for other in embeddings.candidates[row]]
                texts, bag = [*texts, text, *more], 1 + len(more)
            return losses.mil_nce(sides[1], texts, bag, weights, turned)


def _mean_over_positives(similarity, weights, clips, captions):
    """Both directions; row i's positives are the rows with its clip or its caption."""
    count, total = len(clips), 0.0
    for i in range(count):
        positives = [j for j in range(count) if clips[j] == clips[i] or captions[j] == captions[i]]
        for scores in (similarity[i], [row[i] for row in similarity]):
            others = sum(weights[i][j] * scores[j].exp() for j in range(count) if j not in positives)
            total -= sum((scores[p].exp() / (scores[p].exp() + others)).log() for p in positives) / len(positives)
    return total / count


def _matrix(compare, a, b):
    return [[compare(x, y) for y in b] for x in a]


def _cosine(a, b):
    return losses.dot(a, b) / (losses.dot(a, a) * losses.dot(b, b)) ** 0.5


def _scale(config, parameters):
    return parameters["temperature.log_scale"].exp() if config.learnable_temperature else 1 / config.temperature


def _adaptive(row, i, scale):
    others = [value.item() for j, value in enumerate(row) if j != i]
    return scale * (row[i].item() - sum(others) / len(others))
