"""`Implementation` of the capsule network and its baselines."""

from vtr_core.systems.capsules.activation_report import responses
from vtr_core.systems.capsules.activations import ACTIVATIONS
from vtr_core.systems.capsules.config import CapsuleNetConfig, JointSpaceSettings
from vtr_core.systems.capsules.initialization import build
from vtr_core.systems.clip_space import CLIP_SPACE, clip_task, predict, signature
from vtr_core.systems.implementation import Implementation


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
)
