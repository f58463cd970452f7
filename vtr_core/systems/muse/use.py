"""How a registered MUSE is used."""

from vtr_core.systems.muse.config import MuseConfig
from vtr_core.systems.use import Column, Use


def use(model: MuseConfig) -> Use:  # noqa: ARG001  all systems' are called alike
    """A text in; its vector out."""
    return Use(
        text="Embeds captions in the space, or the spaces, of whole videos. In: a table with a column `caption`; out: "
        "a column of vectors for each space.",
        given='{"caption": ["a man cooks rice"]}',
        asked=None,
        takes=(Column("caption", "text"),),
        gives=(Column("text", "floats", required=False),),
        example={"caption": ["a person cooks rice"]},
    )
