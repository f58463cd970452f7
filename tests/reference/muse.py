"""MUSE's pooling and scales, as plainly as they can be said."""

import torch


def mean_pooled(frames, mask):
    """CLIP4Clip's meanP, in its own order of operations."""
    frames = frames / frames.norm(dim=-1, keepdim=True)
    frames = frames * mask.unsqueeze(-1)
    mean = frames.sum(dim=1) / mask.sum(dim=1, keepdim=True)
    return mean / mean.norm(dim=-1, keepdim=True)


def pooled_grid(patches, grid, scale):
    """Maxima of the regions of adaptive pooling, from floor(i g / s) to ceil((i + 1) g / s)."""
    edges = [(i * grid // scale, -(-(i + 1) * grid // scale)) for i in range(scale)]
    rows = []
    for top, bottom in edges:
        for left, right in edges:
            cells = [patches[row * grid + column] for row in range(top, bottom) for column in range(left, right)]
            rows.append(torch.stack(cells).amax(dim=0))
    return torch.stack(rows)


def upsampled(patches, grid, layer):
    """A transposed convolution of 2 × 2 with stride 2: every patch makes four tokens of its own."""
    found = torch.zeros(2 * grid, 2 * grid, layer.weight.shape[1], dtype=patches.dtype)
    for row in range(grid):
        for column in range(grid):
            for down in range(2):
                for right in range(2):
                    token = layer.weight[:, :, down, right].T @ patches[row * grid + column] + layer.bias
                    found[2 * row + down, 2 * column + right] = token
    return found.flatten(0, 1)


def refined(tokens, size, first, second):
    """1 × 1 convolution, LayerNorm, GELU, 3 × 3 convolution, LayerNorm, from two pairs (convolution, norm)."""
    hidden = tokens @ first[0].weight[:, :, 0, 0].T + first[0].bias
    hidden = torch.nn.functional.gelu(_normed(hidden, first[1]))
    found = []
    for row in range(size):
        for column in range(size):
            token = second[0].bias.clone()
            for down in (-1, 0, 1):
                for right in (-1, 0, 1):
                    if 0 <= row + down < size and 0 <= column + right < size:
                        neighbour = hidden[(row + down) * size + column + right]
                        token = token + second[0].weight[:, :, down + 1, right + 1] @ neighbour
            found.append(token)
    return _normed(torch.stack(found), second[1])


def _normed(tokens, norm):
    centred = tokens - tokens.mean(dim=1, keepdim=True)
    return centred / (centred.square().mean(dim=1, keepdim=True) + norm.eps).sqrt() * norm.weight + norm.bias
