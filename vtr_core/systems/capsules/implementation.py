"""`Implementation` of the capsule network and its baselines."""

from vtr_core.systems.capsules.activations.responses import responses
from vtr_core.systems.capsules.activations.rows import ACTIVATIONS
from vtr_core.systems.capsules.build import build
from vtr_core.systems.capsules.config import CapsuleNetConfig, JointSpaceSettings
from vtr_core.systems.capsules.knock_outs import knock_outs
from vtr_core.systems.implementation import Implementation
from vtr_core.systems.joint_space.clips import CLIP_SPACE, clip_task
from vtr_core.systems.joint_space.served import predict
from vtr_core.systems.joint_space.signature import signature


def _compiles(config: JointSpaceSettings) -> bool:
    """The capsule network with routing by self-attention; other routings and the baselines were never compared, and a
    pretrained encoder is no part of a graph.
    """
    capsules = isinstance(config, CapsuleNetConfig) and config.routing.kind == "self_attention"
    return capsules and config.words.encoder is None


IMPLEMENTATION = Implementation(
    build=build,
    task=clip_task,
    predict=predict,
    signature=signature,
    retrieval=CLIP_SPACE,
    outputs={"activations": ACTIVATIONS},
    responses=responses,
    compiles=_compiles,
    knock_outs=knock_outs,
)
