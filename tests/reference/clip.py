"""CLIP with loops over tokens and heads, in float64, from its published parameters by name."""

import math
from collections.abc import Callable

import numpy as np

State = dict[str, np.ndarray]


def layer_norm(x: np.ndarray, state: State, name: str) -> np.ndarray:
    """Over the last axis."""
    normal = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return normal * state[f"{name}.weight"] + state[f"{name}.bias"]


def attention(x: np.ndarray, state: State, name: str, heads: int, causal: bool) -> np.ndarray:
    """Every token's, head by head."""
    q, k, v = np.split(x @ state[f"{name}.in_proj_weight"].T + state[f"{name}.in_proj_bias"], 3, axis=1)
    width = x.shape[1] // heads
    found = np.zeros_like(x)
    for head in range(heads):
        part = slice(head * width, (head + 1) * width)
        for i in range(len(x)):
            others = range(i + 1) if causal else range(len(x))
            scores = np.array([q[i, part] @ k[j, part] / np.sqrt(width) for j in others])
            weights = np.exp(scores - scores.max())
            weights /= weights.sum()
            found[i, part] = sum(w * v[j, part] for w, j in zip(weights, others, strict=True))
    return found @ state[f"{name}.out_proj.weight"].T + state[f"{name}.out_proj.bias"]


def quick_gelu(x: np.ndarray) -> np.ndarray:
    """x σ(1.702 x)."""
    return x / (1 + np.exp(-1.702 * x))


def gelu(x: np.ndarray) -> np.ndarray:
    """x Φ(x), Φ the normal distribution's."""
    return x * np.vectorize(lambda value: (1 + math.erf(value / math.sqrt(2))) / 2)(x)


Activation = Callable[[np.ndarray], np.ndarray]


def transformer(
    x: np.ndarray, state: State, name: str, layers: int, heads: int, causal: bool, activation: Activation
) -> np.ndarray:
    """All layers."""
    for layer in range(layers):
        here = f"{name}.resblocks.{layer}"
        x = x + attention(layer_norm(x, state, f"{here}.ln_1"), state, f"{here}.attn", heads, causal)
        inner = layer_norm(x, state, f"{here}.ln_2") @ state[f"{here}.mlp.c_fc.weight"].T
        inner = inner + state[f"{here}.mlp.c_fc.bias"]
        x = x + activation(inner) @ state[f"{here}.mlp.c_proj.weight"].T + state[f"{here}.mlp.c_proj.bias"]
    return x


def picture_tokens(
    pixels: np.ndarray, state: State, patch: int, layers: int, heads: int, activation: Activation = quick_gelu
) -> np.ndarray:
    """(tokens, dim) of one RGB picture (3, height, width) of 0 to 255."""
    mean = np.array([0.48145466, 0.4578275, 0.40821073])[:, None, None]
    deviation = np.array([0.26862954, 0.26130258, 0.27577711])[:, None, None]
    values, tokens = (pixels / 255 - mean) / deviation, [state["visual.class_embedding"]]
    for top in range(0, values.shape[1], patch):
        for left in range(0, values.shape[2], patch):
            square = values[:, top : top + patch, left : left + patch]
            tokens.append((state["visual.conv1.weight"] * square).sum((1, 2, 3)))
    x = layer_norm(np.array(tokens) + state["visual.positional_embedding"], state, "visual.ln_pre")
    x = transformer(x, state, "visual.transformer", layers, heads, False, activation)
    return layer_norm(x, state, "visual.ln_post") @ state["visual.proj"]


def caption(words: list[int], state: State, layers: int, heads: int, activation: Activation = quick_gelu) -> np.ndarray:
    """(dim,) of a caption of published ids, without start and end."""
    end = len(state["token_embedding.weight"]) - 1
    ids = [end - 1, *words, end]
    x = state["token_embedding.weight"][ids] + state["positional_embedding"][: len(ids)]
    x = layer_norm(transformer(x, state, "transformer", layers, heads, True, activation), state, "ln_final")
    return x[-1] @ state["text_projection"]
