"""Clips of named scenes, which decide what their features mean, and the settings that learn them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vtr_core.data.sources.synthetic import Synthetic

PRESET = "capsule-howto-tiny"
SCENES: Mapping[str, Any] = {
    "scenes": 8,
    "named_scenes": True,
    "noise": 0.3,
    "style": 0.5,
    "misalignment": 0.0,
    "mention": 0.9,
}
"""Settings of the synthetic world: its scenes are named, with little noise."""
ROUTING_BY_SCENE: Mapping[str, Any] = {
    "model.initialization": "scaled",
    "model.routing.carried_presence": 8.0,
    "optimizer.warmup_steps": 20,
    "optimizer.gradient_clip": 5.0,
}
"""Changes of the preset with which activations follow scenes: a capsule's presence is carried through the routing, and
activations that are multiplied need weights of a known size and small first steps."""
CHANGES: Mapping[str, Any] = {
    **ROUTING_BY_SCENE,
    "optimizer.learning_rate": 1.5e-3,
    "training.epochs": 6,
}


def world(clips: int, seed: int) -> "Synthetic":
    """Narrated videos of 8 scenes that are named, with little noise: as the source of an ingest."""
    from vtr_core.data.sources.synthetic import Synthetic

    return Synthetic(**SCENES, num_clips=clips, seed=seed)
