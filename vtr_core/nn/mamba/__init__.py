"""MUSE's block for any frame features: a pyramid of scales, and gated Mamba over their tokens.

In the place of a mean over frames, given [CLS] tokens (videos, frames, dim), patches (videos, frames, 7 × 7, dim), row
by row of the grid, and a mask of the frames there are:

    >>> import torch
    >>> from vtr_core.config.blocks.learners import MambaLearner
    >>> from vtr_core.nn.mamba.aggregation import ScaledFrames, aggregate, changed_frames
    >>> from vtr_core.nn.mamba.pyramid import Pyramid
    >>> from vtr_core.nn.mamba.res_mamba import ResMamba
    >>> cls, patches = torch.randn(2, 12, 64), torch.randn(2, 12, 49, 64)
    >>> mask = torch.arange(12) < torch.tensor([[12], [9]])
    >>> pyramid, block = Pyramid(64, grid=7, scales=(1, 3, 7)), ResMamba(64, MambaLearner(layers=2))

    >>> scaled = ScaledFrames(cls, mask, [grid.unflatten(0, mask.shape) for grid in pyramid(patches.flatten(0, 1))])
    >>> tokens = aggregate(scaled, "scale")
    >>> frames = changed_frames(scaled, tokens, block(tokens.tokens, tokens.mask))
    >>> video = (frames * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)

Until the gates have learned something, that is the mean itself, bit for bit; features of single vectors have no
pyramid, and ScaledFrames(features, mask) is all:

    >>> torch.equal(video, (cls * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True))
    True
"""
