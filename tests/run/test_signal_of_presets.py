"""With fresh weights what differs between rows reaches every output of every preset, and gradients every layer.

Presets themselves are looked at with their own sizes; what variants change, in the small preset of their system, which
has the same layers. What is out of bounds is named here with its reason, and nothing else may be.
"""

import re
from dataclasses import dataclass

import pytest

from tests.builders.made_batch import KINDS, FeatureKind, made_signal
from vtr_core.run.presets import PRESETS, preset
from vtr_core.systems.capsules.presets import CAPSULE_PRESETS
from vtr_core.systems.captioning.presets import CAPTION_PRESETS
from vtr_core.systems.clip4clip.presets import CLIP4CLIP_PRESETS
from vtr_core.systems.dual.presets import DUAL_PRESETS
from vtr_core.systems.muse.presets import MUSE_PRESETS
from vtr_core.systems.siamese.presets import SIAMESE_PRESETS

QUICK = ("hybrid-msrvtt-tiny", "siamese-att-tiny", "caption-msrvtt-tiny", "muse-msrvtt-tiny", "clip4clip-tiny")
DUAL = (*DUAL_PRESETS.bases, "hybrid-msrvtt-tiny-published")
CAPTIONING = tuple(name for name in CAPTION_PRESETS.bases if name != "caption-swin-msrvtt")
BASES = (
    *(*CAPSULE_PRESETS.bases, *DUAL, *MUSE_PRESETS.bases, *SIAMESE_PRESETS.bases, *CAPTIONING),
    *("clip4clip-tiny", "muse-clip-tiny"),
)
"""Presets of CLIP4Clip and Video Swin at published sizes begin with given weights, whose signal is that of training."""
LARGE = "muse-msrvtt"
"""Its 2,040 tokens a row take seconds each."""


@dataclass(frozen=True)
class Allowed:
    """Faults that presets of these names have by design; both are regular expressions of the whole."""

    presets: str
    faults: str
    reason: str


ALLOWED = (
    Allowed(
        "capsule-howto-tiny",
        "(text: share|(primary|projection).*: gradient).*",
        "torch's initial weights, gains doubled and activations scaled: at this size they find more on unseen clips",
    ),
    Allowed(
        "(clip4clip|muse-clip)-tiny.*",
        "video: share.*",
        "CLIP's initial weights are the published ones: [CLS] begins alike in all pictures, and residuals are small",
    ),
    Allowed(
        "caption-swin-tiny",
        r"backbone\.layers\.\d\.blocks\.\d\.attn: gradient 0\.00[3-9].*",
        "attention begins nearly uniform, so that a bias of a relative position moves little of it",
    ),
    Allowed(
        "muse-clip-tiny.*",
        "(clip|clip.token_embedding|temporal.*(x_proj|dt_proj)): gradient.*",
        "CLIP's word vectors begin at 0.02, so gradients of theirs are large beside those of step sizes",
    ),
    Allowed(
        "muse-msrvtt",
        "text_video: similarities deviate by 4.*",
        "1/τ begins at CLIP's 100, for CLIP's vectors; cosines of independent directions in 512 dimensions deviate by "
        "1/√512, a little more than those of CLIP's captions with other videos",
    ),
    Allowed(
        "muse-.*-published",
        ".*: (gradient|similarities|share).*",
        "the published code's pyramid, gates and weights are torch's",
    ),
    Allowed(
        "muse-(msrvtt|tokens)-tiny-mamba-out",
        "(temporal|pyramid).*: gradient.*",
        "two convolutions of width 7 reach 6 tokens, and those of coarser scales lie farther from the frames",
    ),
    Allowed(
        "muse-msrvtt-tiny-scan-v1",
        r"temporal\.2.*: gradient 0\.00[5-9].*",
        "the one token of 8 frames is the farthest from the frames, and both directions share what carries it there",
    ),
    Allowed(
        "siamese-.*-(lenet|alexnet|resnet-34|inception-v3)",
        "face: share.*",
        "baselines of Table 1 keep the weights that they were measured with, torch's and He's: after their ReLUs faces "
        "have much in common",
    ),
    Allowed(
        "siamese-.*-reconstruction",
        "decoder.*: gradient.*",
        "the reconstruction has a weight of 1e-4 in the loss",
    ),
    Allowed(
        "hybrid-msrvtt(-tiny)?-causal",
        ".*_concept: share.*",
        "concepts begin rare: a score's mean is logit(0.1), and its differences are beside it",
    ),
)


def unexpected(name: str, kind: FeatureKind, rows: int) -> list[str]:
    """Faults that nothing allows."""
    faults = made_signal(preset(name), kind, rows).faults()
    allowed = [one.faults for one in ALLOWED if re.fullmatch(one.presets, name)]
    return [fault for fault in faults if not any(re.fullmatch(pattern, fault) for pattern in allowed)]


def kinds(name: str) -> tuple[FeatureKind, ...]:
    """Of features; images and frames have one."""
    model = preset(name).model
    return ("standardized",) if model.system().records(model) in ("images", "frames") else tuple(KINDS)


def looks(names: tuple[str, ...]) -> list[tuple[str, FeatureKind]]:
    return [(name, kind) for name in names for kind in kinds(name)]


LARGE_VARIANTS = ("scales-4", "scales-5", "layers-16")
VARIANTS = [
    *(f"hybrid-msrvtt-tiny-{name}" for name in DUAL_PRESETS.variants),
    *(f"muse-msrvtt-tiny-{name}" for name in MUSE_PRESETS.variants),
    *(f"muse-tokens-tiny-{name}" for name in MUSE_PRESETS.variants if name not in LARGE_VARIANTS),
    *(f"siamese-att-small-{name}" for name in SIAMESE_PRESETS.variants),
    *(f"siamese-att-small-published{name}" for name in ("", "-drop-caps", "-lenet", "-alexnet")),
    *(f"siamese-att-small-published-{name}" for name in ("resnet-34", "inception-v3")),
    *(f"caption-msrvtt-tiny-{name}" for name in CAPTION_PRESETS.variants),
    *(f"clip4clip-tiny-{name}" for name in CLIP4CLIP_PRESETS.variants if name != "frozen"),
]


def test_every_system_is_looked_at() -> None:
    """A capsule preset is looked at in `test_signal.py` with every routing, too. The adapter begins at a signal."""
    small = {name.rsplit("-tiny", 1)[0].split("-")[0] for name in QUICK}
    assert {name.split("-")[0] for name in PRESETS} == {*small, "capsule", "adapter"}
    assert set(BASES) | set(VARIANTS) <= set(PRESETS)


@pytest.mark.parametrize(("name", "kind"), looks(QUICK))
def test_a_signal_arrives(name: str, kind: FeatureKind) -> None:
    assert unexpected(name, kind, 16) == []


@pytest.mark.long
@pytest.mark.parametrize(("name", "kind"), looks(tuple(name for name in BASES if name not in QUICK)))
def test_a_signal_arrives_at_a_presets_own_size(name: str, kind: FeatureKind) -> None:
    assert unexpected(name, kind, 6 if name == LARGE else 16) == []


@pytest.mark.long
@pytest.mark.parametrize("name", VARIANTS)
def test_a_signal_arrives_in_variants(name: str) -> None:
    assert unexpected(name, kinds(name)[0], 16) == []
