"""The signature of a registered captioner."""

import numpy as np

from vtr_core.systems.captioning.config import CaptionerConfig
from vtr_core.systems.captioning.inputs.table import column
from vtr_core.systems.signature import Column, Signature


def signature(model: CaptionerConfig) -> Signature:
    """The signature: a video's frame vectors in; text out."""
    name, dim = column(model)
    frames = np.linspace(-1, 1, 2 * dim).round(3).reshape(2, -1)
    if model.backbone is not None:
        frames = np.full((1, dim), 128.0)
    return Signature(
        description="Describes videos. Input: a column with a list of frame vectors per video, or of frames as pixels "
        "from 0 to 255, row by row; output: `caption`.",
        example_input=f'{{"{name}": [frames]}}',
        example_output="caption",
        inputs=(Column(name, "frames"),),
        outputs=(Column("caption", "text", required=False),),
        example_row={name: [frames.tolist()]},
    )
