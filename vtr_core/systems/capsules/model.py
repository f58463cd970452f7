"""Multimodal capsule network with routing by self-attention (Duarte et al.)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from torch import nn

from vtr_core.data.batches.batch import ClipBatch
from vtr_core.errors import ConfigError
from vtr_core.nn.capsules.capsules import Capsules
from vtr_core.nn.capsules.primary import PrimaryCapsules
from vtr_core.nn.capsules.projection import CapsuleProjection
from vtr_core.nn.capsules.routing.build import build_routing
from vtr_core.nn.embeddings import Embeddings
from vtr_core.nn.joint_space import joint_embeddings
from vtr_core.systems.capsules.config import CapsuleNetConfig
from vtr_core.systems.capsules.modalities import ModalityVectors

SHARED = "shared"


class CapsuleNet(nn.Module):
    """f_m = f_out(p̂ᵢ x̂ᵢ) per modality m: primary capsules per modality, routing and f_out shared (sections 3.2 and
    A).

    With `projected_poses` "primary" f_m = f_out(p̂ᵢ xᵢ): routing only weights the primary poses. Raises ConfigError for
    invalid inputs, or a routing that does not fit the other settings.
    """

    def __init__(self, config: CapsuleNetConfig) -> None:
        super().__init__()
        _check(config)
        self.config = config
        self.inputs = ModalityVectors(config)
        dims = self.inputs.dims
        self.primary = nn.ModuleDict(
            {name: PrimaryCapsules(dim, config.num_capsules, config.primary_dim) for name, dim in dims.items()}
        )
        heads = [SHARED] if config.share_weights else list(dims)
        self.routing = nn.ModuleDict(
            {name: build_routing(config.num_capsules, config.primary_dim, config.routing) for name in heads}
        )
        self.projection = nn.ModuleDict({name: _projection(config) for name in heads})

    def forward(self, batch: ClipBatch) -> Embeddings:
        """Text and every configured feature in the joint space."""
        primary = self._primary(batch)
        projected = {
            name: self.projection[self._head(name)](self._projected(primary[name], secondary))
            for name, secondary in self._route(primary).items()
        }
        return joint_embeddings(projected, batch, self.config.normalize)

    def activations(self, batch: ClipBatch) -> dict[str, Capsules]:
        """The secondary capsules of every modality; undefined in rows that lack the modality."""
        return self._route(self._primary(replace(batch, candidate_tokens=None)))

    def _primary(self, batch: ClipBatch) -> dict[str, Capsules]:
        return {name: self.primary[name](vectors) for name, vectors in self.inputs(batch).items()}

    def _route(self, primary: Mapping[str, Capsules]) -> dict[str, Capsules]:
        return {name: self.routing[self._head(name)](capsules) for name, capsules in primary.items()}

    def _projected(self, primary: Capsules, secondary: Capsules) -> Capsules:
        """The input of f_out: the secondary activations, with the poses that the configuration selects."""
        match self.config.projected_poses:
            case "secondary":
                return secondary
            case "primary":
                return Capsules(poses=primary.poses, activations=secondary.activations)
            case _:
                assert_never(self.config.projected_poses)

    def _head(self, modality: str) -> str:
        return SHARED if self.config.share_weights else modality


def _projection(config: CapsuleNetConfig) -> CapsuleProjection:
    pose_dim = config.primary_dim if config.projected_poses == "primary" else config.routing.pose_dim
    return CapsuleProjection(config.num_capsules, pose_dim, config.embedding_dim, config.activation_scale)


def _check(config: CapsuleNetConfig) -> None:
    if config.projected_poses == "primary" and config.routing.kind not in ("self_attention", "none"):
        raise ConfigError(
            f"model.projected_poses = 'primary' with model.routing.kind = {config.routing.kind!r}: its secondary "
            "capsule i does not belong to primary capsule i; use projected_poses 'secondary', or self_attention or none"
        )
    if config.activation_scale == "num_capsules" and config.routing.kind == "em":
        raise ConfigError(
            "model.activation_scale = 'num_capsules' with model.routing.kind = 'em': EM's activations come from no "
            "softmax over the capsules that it could undo; use 'none'"
        )
