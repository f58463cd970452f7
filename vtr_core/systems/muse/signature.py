"""The signature of a registered MUSE."""

from vtr_core.systems.muse.config import MuseConfig
from vtr_core.systems.signature import Column, Signature


def signature(model: MuseConfig) -> Signature:  # noqa: ARG001  all systems' are called alike
    """The signature: text in; its vector out."""
    return Signature(
        description="Embeds captions in the spaces of videos. Input: `caption`; output: vectors per space.",
        example_input='{"caption": ["a man cooks rice"]}',
        example_output=None,
        inputs=(Column("caption", "text"),),
        outputs=(Column("text", "floats", required=False),),
        example_row={"caption": ["a person cooks rice"]},
    )
