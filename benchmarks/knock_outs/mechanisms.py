"""The mechanisms: one row each, with its preset, its data, and how it is switched off and left out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.knock_outs.named_scenes import ROUTING_BY_SCENE

Changes = Mapping[str, Any]


@dataclass(frozen=True)
class Mechanism:
    """One row: what is switched off, how, and by which figure it is judged."""

    preset: str
    world: str
    """A name of WORLDS."""
    what: str
    metric: str
    """Of the evaluation, such as t2v/r1; in percent."""
    heading: str
    off: str | None = None
    """The figures without it at test time: `without_<--knock-out>`, or the space that is left of a dual encoder."""
    without: Changes | None = None
    """What trains the preset without it; None where that has no meaning."""
    changes: Changes = field(default_factory=dict)
    """Of the preset in all runs of the row."""

    @property
    def knock_out(self) -> tuple[str, ...]:
        """What `vtr evaluate --knock-out` is asked for."""
        return (self.off.removeprefix("without_"),) if self.off and self.off.startswith("without_") else ()


_SMALL_MSRVTT: Changes = {"training.epochs": 60, "training.validate_every": 5}
_STEPS: Changes = {
    "batch.videos": 128,
    "training.epochs": 1000,
    "training.max_steps": 220,
    "training.validate_every": 1000,
}
_ROTATED: Changes = {
    "batch.videos": 256,
    "batch.clips_per_video": 1,
    "training.epochs": 1000,
    "training.max_steps": 800,
    "training.validate_every": 5,
    "optimizer.warmup_steps": 20,
    "optimizer.gradient_clip": 5.0,
}
MECHANISMS: Mapping[str, Mechanism] = {
    "capsule-activations": Mechanism(
        "capsule-howto-tiny",
        "8-scenes",
        "activations that tell a clip's scene",
        "t2v/r10",
        "R@10",
        "without_activations",
        {"model.routing.carried_presence": 0.0},
        {**ROUTING_BY_SCENE, **_STEPS, "model.routing.carried_presence": 2.0},
    ),
    "capsule-named-scenes": Mechanism(
        "capsule-howto-tiny",
        "8-named-scenes",
        "activations that tell a clip's scene, which captions name",
        "t2v/r10",
        "R@10",
        "without_activations",
        {"model.routing.carried_presence": 0.0},
        {**ROUTING_BY_SCENE, **_STEPS},
    ),
    "capsule-rotations": Mechanism(
        "capsule-howto-tiny",
        "64-rotations",
        "activations that tell a clip's scene, of 64",
        "t2v/r10",
        "R@10",
        "without_activations",
        {"model.routing.carried_presence": 0.0},
        {**ROUTING_BY_SCENE, **_ROTATED, "optimizer.learning_rate": 2e-3},
    ),
    "fully-connected-rotations": Mechanism(
        "capsule-howto-tiny-fully-connected",
        "64-rotations",
        "none: the network without capsules",
        "t2v/r10",
        "R@10",
        changes={**_ROTATED, "optimizer.learning_rate": 5e-4},
    ),
    "capsule-msrvtt": Mechanism(
        "capsule-msrvtt",
        "msrvtt-800-clips",
        "activations, to which presence is carried",
        "t2v/r10",
        "R@10",
        "without_activations",
        {"model.routing.carried_presence": 0.0, "model.words.layer_norm": False},
    ),
    "muse-learner": Mechanism(
        "muse-tokens-tiny",
        "small-things",
        "the learner over tokens",
        "t2v/r1",
        "R@1",
        "without_learner",
        {"model.learner.kind": "none", "model.scales": (1,)},
    ),
    "muse-scale-4": Mechanism(
        "muse-tokens-tiny",
        "small-things",
        "the scale of single patches",
        "t2v/r1",
        "R@1",
        "without_scale-4",
        {"model.scales": (1, 2)},
    ),
    "muse-scale-2": Mechanism(
        "muse-tokens-tiny",
        "small-things",
        "the scale of 2 × 2 regions",
        "t2v/r1",
        "R@1",
        "without_scale-2",
        {"model.scales": (1, 4)},
    ),
    "muse-backward": Mechanism(
        "muse-tokens-tiny",
        "small-things",
        "the backward scan",
        "t2v/r1",
        "R@1",
        "without_backward",
        {"model.learner.scan": "none"},
    ),
    "dual-concept": Mechanism(
        "hybrid-msrvtt-tiny",
        "msrvtt-800",
        "the concept space",
        "t2v/r10",
        "R@10",
        "latent",
        {"model.num_concepts": None},
        _SMALL_MSRVTT,
    ),
    "dual-latent": Mechanism(
        "hybrid-msrvtt-tiny",
        "msrvtt-800",
        "the latent space",
        "t2v/r10",
        "R@10",
        "concept",
        {"model.latent_dim": None},
        _SMALL_MSRVTT,
    ),
    "siamese-routing": Mechanism(
        "siamese-att-small",
        "att-faces",
        "routing by agreement",
        "auc",
        "AUC",
        "without_routing",
        {"model.tower.iterations": 1},
    ),
    "captions-margin": Mechanism(
        "caption-msrvtt-tiny",
        "msrvtt-800",
        "granularity as the margin",
        "cider",
        "CIDEr",
        without={"loss.granularity_margin": None},
    ),
}
