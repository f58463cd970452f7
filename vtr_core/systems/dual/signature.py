"""The signature of a registered dual encoder."""

from vtr_core.systems.dual.config import HybridEncoderConfig
from vtr_core.systems.signature import Column, Signature


def signature(model: HybridEncoderConfig) -> Signature:
    """The signature: text in; its latent vector and concept probabilities out, for the spaces that the model has."""
    spaces = {"latent": model.latent_dim, "concepts": model.num_concepts}
    return Signature(
        description="Embeds captions in the spaces of videos. Input: `caption`; output: vectors per space.",
        example_input='{"caption": ["a man cooks rice"]}',
        example_output=None,
        inputs=(Column("caption", "text"),),
        outputs=tuple(Column(name, "floats", required=False) for name, size in spaces.items() if size is not None),
        example_row={"caption": ["a person cooks rice"]},
    )
