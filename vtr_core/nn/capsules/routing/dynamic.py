"""Dynamic routing by agreement (Sabour et al. 2017)."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from vtr_core.config.blocks.routing import DynamicRouting
from vtr_core.nn.capsules.agreement import agree
from vtr_core.nn.capsules.capsules import Capsules
from vtr_core.nn.capsules.routing.secondary import SecondaryActivations

_VOTES = 2**31
"""Votes that are held at once where they are recomputed: 8.6 GB in float32, and as much again for their gradient."""


class Dynamic(nn.Module):
    """C secondary capsules from C primary ones by iterated agreement (Sabour et al. 2017, procedure 1).

    û_ij = (pᵢxᵢ) W_ij                                       the vote of capsule i for capsule j; W_ij is d1 × d2
    repeated, from b_ij = 0:  c_ij = softmax over j of b_ij,  v_j = squash(Σᵢ c_ij û_ij),  b_ij ← b_ij + κ û_ij · v_j
    x̂_j = v_j of the last round,  p̂ = softmax over the capsules of x̂ W_p + b_p

    Activations are the softmax of Duarte et al., Eq. 2, rather than the length of v_j, so that f_out gets the same kind
    of input under every routing; the length stays in the pose. The gradient is that of the whole procedure, through
    every round. Duarte et al. seem to do the same, judging by memory: their Table 3 reports 11.4 GB more than for
    self-attention, about 14 times the votes of three modalities if it counts one of four GPUs. Here the votes and their
    gradient are stored once; with `recompute` only the poses are stored, and the votes are recomputed, of so many rows
    at a time that memory does not grow with the batch.

    κ is 1 (`config.agreement` "sum", as published) or 1/d2 ("mean"). By the sum the couplings of untrained poses' votes
    are nearly all 0 or 1, and three rounds hardly learn (benchmarks/results/capsule_ablation.md).

    W_ij is drawn with variance C/d1: the mean of C independent votes then has the variance of pᵢxᵢ for any C.
    """

    def __init__(self, num_capsules: int, primary_dim: int, config: DynamicRouting) -> None:
        super().__init__()
        self.num_iterations, self.recompute = config.num_iterations, config.recompute
        self.agreement_scale = 1 / config.pose_dim if config.agreement == "mean" else 1.0
        self.weight = nn.Parameter(torch.empty(num_capsules, num_capsules, primary_dim, config.pose_dim))
        nn.init.normal_(self.weight, std=(num_capsules / primary_dim) ** 0.5)
        self.activations = SecondaryActivations(config.pose_dim)

    def forward(self, capsules: Capsules) -> Capsules:
        """The secondary capsules."""
        poses = capsules.weighted_poses()
        if self.recompute:
            rows = max(1, _VOTES // (self.weight.numel() // self.weight.shape[2]))
            parts = [
                checkpoint(self._routed, part, use_reentrant=False, preserve_rng_state=False)
                for part in poses.split(rows)
            ]
            routed = torch.cat(parts)
        else:
            routed = self._routed(poses)
        return self.activations(routed)

    def _routed(self, poses: Float[Tensor, "batch capsules primary"]) -> Float[Tensor, "batch secondary pose"]:
        return agree(self._votes(poses), self.num_iterations, "squash", scale=self.agreement_scale)

    def _votes(self, poses: Float[Tensor, "batch capsules primary"]) -> Float[Tensor, "batch secondary capsules pose"]:
        """û_ij, by one matrix product per primary capsule, whose result is reshaped without a copy."""
        primary, secondary, _, pose_dim = self.weight.shape
        weight = self.weight.transpose(1, 2).reshape(primary, -1, secondary * pose_dim)
        votes = torch.bmm(poses.transpose(0, 1), weight)
        return votes.unflatten(2, (secondary, pose_dim)).permute(1, 2, 0, 3)
