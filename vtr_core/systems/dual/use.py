"""How a registered dual encoder is used."""

from vtr_core.systems.dual.config import HybridEncoderConfig
from vtr_core.systems.use import Column, Use


def use(model: HybridEncoderConfig) -> Use:
    """A text in; its latent vector and the probabilities of its concepts out, as far as the model has these spaces."""
    spaces = {"latent": model.latent_dim, "concepts": model.num_concepts}
    return Use(
        text="Embeds captions in the space, or the spaces, of whole videos. In: a table with a column `caption`; out: "
        "a column of vectors for each space.",
        given='{"caption": ["a man cooks rice"]}',
        asked=None,
        takes=(Column("caption", "text"),),
        gives=tuple(Column(name, "floats", required=False) for name, size in spaces.items() if size is not None),
        example={"caption": ["a person cooks rice"]},
    )
