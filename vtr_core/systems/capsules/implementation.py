"""`Implementation` of the capsule network and its baselines."""

from vtr_core.systems.capsules.activations.rows import ACTIVATIONS
from vtr_core.systems.capsules.build import build
from vtr_core.systems.capsules.knock_outs import knock_outs
from vtr_core.systems.implementation import Implementation
from vtr_core.systems.joint_space.clips import CLIP_SPACE, clip_task
from vtr_core.systems.joint_space.served import predict
from vtr_core.systems.joint_space.signature import signature

IMPLEMENTATION = Implementation(
    build=build,
    task=clip_task,
    predict=predict,
    signature=signature,
    retrieval=CLIP_SPACE,
    outputs={"activations": ACTIVATIONS},
    knock_outs=knock_outs,
)
