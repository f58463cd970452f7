"""What the linear model does with torch."""

from tests.systems.linear.model import build
from tests.systems.linear.task import LinearTask
from vtr_core.systems.implementation import Implementation
from vtr_core.systems.joint_space.clips import CLIP_SPACE
from vtr_core.systems.joint_space.served import predict
from vtr_core.systems.joint_space.signature import signature

IMPLEMENTATION = Implementation(build, LinearTask, predict, signature, CLIP_SPACE)
