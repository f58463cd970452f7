"""How a registered captioner is used."""

import numpy as np

from vtr_core.systems.captioning.config import CaptionerConfig
from vtr_core.systems.use import Column, Use


def use(model: CaptionerConfig) -> Use:
    """The vectors of a video's frames in; a text out."""
    dim = model.inputs.features.get(model.feature, 1)  # of a preset without data, which has a page, too
    frames = np.linspace(-1, 1, 2 * dim).round(3).reshape(2, -1)
    return Use(
        text="Describes videos. In: a table with the column of frame features, of each video a list of vectors; out: "
        "`caption`.",
        given=f'{{"{model.feature}": [frames]}}',
        asked="caption",
        takes=(Column(model.feature, "frames"),),
        gives=(Column("caption", "text", required=False),),
        example={model.feature: [frames.tolist()]},
    )
