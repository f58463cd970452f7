"""A Mamba mixer row by row and step by step, from a state dict of Vision Mamba's layout."""

import math

import torch

from tests.reference.selective_scan import selective_scan


def mamba(tokens, weights, scan, state):
    return torch.stack([_row(row, weights, scan, state) for row in tokens])


def _row(tokens, weights, scan, state):
    inner = len(weights["D"])
    xz = tokens @ weights["in_proj.weight"].T
    x, z = xz[:, :inner], xz[:, inner:]
    u = _driven(x, weights, "")
    y = _scanned(u, z, _selection(u, weights, state, ""), weights, "", "")
    if scan == "v1":
        reversed_selection = [part[::-1] for part in _selection(u, weights, state, "")]
        backward = _scanned(u[::-1], z.flip(0), reversed_selection, weights, "_b", "")
        y = y + backward.flip(0)
    if scan == "v2":
        u = _driven(x.flip(0), weights, "_b")
        y = y + _scanned(u, z.flip(0), _selection(u, weights, state, "_b"), weights, "_b", "_b").flip(0)
    return y @ weights["out_proj.weight"].T


def _driven(x, weights, suffix):
    """One list entry per step: silu of a causal convolution of each channel with itself."""
    kernel, bias = weights[f"conv1d{suffix}.weight"], weights[f"conv1d{suffix}.bias"]
    width, found = kernel.shape[2], []
    for t in range(len(x)):
        value = bias.clone()
        for back in range(width):
            if t - back >= 0:
                value = value + kernel[:, 0, width - 1 - back] * x[t - back]
        found.append(value / (1 + math.e ** (-value)))
    return found


def _selection(u, weights, state, suffix):
    rank = weights[f"dt_proj{suffix}.weight"].shape[1]
    deltas, Bs, Cs = [], [], []
    for step in u:
        found = weights[f"x_proj{suffix}.weight"] @ step
        deltas.append(weights[f"dt_proj{suffix}.weight"] @ found[:rank])
        Bs.append(found[rank : rank + state])
        Cs.append(found[rank + state :])
    return deltas, Bs, Cs


def _scanned(u, z, selection, weights, decay_suffix, suffix):
    delta, B, C = (torch.stack(part).T[None] for part in selection)
    A = -torch.exp(weights["A_b_log" if decay_suffix else "A_log"])
    y = selective_scan(
        torch.stack(u).T[None], delta, A, B, C, weights[f"D{suffix}"], z.T[None], weights[f"dt_proj{suffix}.bias"], True
    )
    return y[0].T
