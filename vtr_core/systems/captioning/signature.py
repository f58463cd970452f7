"""The signature of a registered captioner."""

import numpy as np

from vtr_core.systems.captioning.config import CaptionerConfig
from vtr_core.systems.signature import Column, Signature


def signature(model: CaptionerConfig) -> Signature:
    """The signature: a video's frame vectors in; text out."""
    dim = model.inputs.features.get(model.feature, 1)  # a preset without data has a model page, too
    frames = np.linspace(-1, 1, 2 * dim).round(3).reshape(2, -1)
    return Signature(
        description="Describes videos. Input: a column with a list of frame vectors per video; output: `caption`.",
        example_input=f'{{"{model.feature}": [frames]}}',
        example_output="caption",
        inputs=(Column(model.feature, "frames"),),
        outputs=(Column("caption", "text", required=False),),
        example_row={model.feature: [frames.tolist()]},
    )
