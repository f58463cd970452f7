"""MUSE's block for any frame features: a pyramid of scales, and gated Mamba over their tokens.

It replaces the mean over frames. Its inputs are [CLS] tokens (videos, frames, dim), patches (videos, frames, 7 × 7,
dim) in row-major order of the grid, and a mask of the valid frames:

    >>> import torch
    >>> from vtr_core.config.towers import MambaLearner
    >>> from vtr_core.nn.mamba.pyramid import ScaledFrames, learned_changes
    >>> from vtr_core.nn.mamba.pyramid import Pyramid, grids_of_videos
    >>> from vtr_core.nn.mamba.learners import build_learner
    >>> cls, patches = torch.randn(2, 12, 64), torch.randn(2, 12, 49, 64)
    >>> mask = torch.arange(12) < torch.tensor([[12], [9]])
    >>> pyramid, block = Pyramid(64, grid=7, scales=(1, 3, 7)), build_learner(64, MambaLearner(layers=2))

    >>> scaled = ScaledFrames(cls, mask, grids_of_videos(pyramid, patches, mask))
    >>> frames = cls + learned_changes(scaled, "scale", block)
    >>> video = (frames * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True)

Features of one vector per frame have no pyramid: for them ScaledFrames(features, mask) is enough. While the gates are
0, as they are at initialisation, the result equals the mean over frames bit for bit:

    >>> torch.equal(video, (cls * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True))
    True
"""
