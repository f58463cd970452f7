"""What the linear model does with torch."""

from tests.systems.linear.model import build
from tests.systems.linear.task import LinearTask
from vtr_core.systems.clip_space import CLIP_SPACE, predict, signature
from vtr_core.systems.implementation import Implementation

IMPLEMENTATION = Implementation(build, LinearTask, predict, signature, CLIP_SPACE)
