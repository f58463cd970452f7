"""MUSE's block as one module, to be put before the pooling over frames of any model."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from vtr_core.config.blocks.frame_block import FrameBlock
from vtr_core.config.blocks.learners import Aggregation, LearnerConfig, MambaLearner, NormPlace
from vtr_core.nn.frame_mean import of_unit_size, root_mean_square
from vtr_core.nn.mamba.aggregation import ScaledFrames, learned_changes
from vtr_core.nn.mamba.initialization import initialize_learner, initialize_pyramid
from vtr_core.nn.mamba.learners import build_learner, reads_forward_alone
from vtr_core.nn.mamba.pyramid import Pyramid, grids_of_videos
from vtr_core.nn.mamba.res_mamba import GatedResiduals


class MuseBlock(nn.Module):
    """Frame vectors plus the residual of a sequence learner over the tokens of all scales (Tang et al. 2025, Figure 2).

    The input is one vector per frame and optionally its grid of patches; the output is frame vectors of the same shape,
    which the model then pools or compares with words. Frames are divided by their root mean square before the learner
    and the residual is multiplied by it, so that the learner sees only directions. With `initial_gate` 0 the output
    equals the input bit for bit at initialisation.
    """

    def __init__(
        self,
        dim: int,
        grid: int | None,
        scales: tuple[int, ...] = (1,),
        aggregation: Aggregation = "scale",
        learner: LearnerConfig | None = None,
        initial_gate: float = 0.1,
        norm: NormPlace = "before",
    ) -> None:
        super().__init__()
        chosen = MambaLearner() if learner is None else learner
        self.pyramid = None if grid is None or scales == (1,) else Pyramid(dim, grid, scales)
        self.learner: GatedResiduals = build_learner(dim, chosen, initial_gate, norm)
        initialize_learner(self.learner)
        if self.pyramid is not None:
            initialize_pyramid(self.pyramid)
        self._aggregation: Aggregation = aggregation
        self._kept_last = reads_forward_alone(chosen)

    def forward(
        self,
        cls: Float[Tensor, "rows frames dim"],
        patches: Float[Tensor, "rows frames patches dim"] | None,
        mask: Bool[Tensor, "rows frames"],
    ) -> Float[Tensor, "rows frames dim"]:
        """The updated frames; those that `mask` leaves out do not influence the others."""
        frames = torch.where(mask.unsqueeze(2), cls, 0)
        size = root_mean_square(frames)
        scaled = ScaledFrames(of_unit_size(frames, size), mask, self._grids(patches, mask))
        return frames + size * learned_changes(scaled, self._aggregation, self.learner, self._kept_last)

    def _grids(
        self, patches: Float[Tensor, "rows frames patches dim"] | None, mask: Bool[Tensor, "rows frames"]
    ) -> list[Float[Tensor, "rows frames _ dim"]]:
        if self.pyramid is None:
            return []
        assert patches is not None, "a block of several scales is given patches"
        return grids_of_videos(self.pyramid, patches, mask)


def build_frame_block(dim: int, config: FrameBlock) -> MuseBlock:
    """A block over frame vectors of `dim` values without patches."""
    return MuseBlock(dim, None, learner=config.learner, initial_gate=config.initial_gate, norm=config.norm)
