"""The signature of a registered model of clips."""

import numpy as np

from vtr_core.run.models import ModelConfig
from vtr_core.systems.signature import Column, Signature


def signature(model: ModelConfig) -> Signature:
    """The signature: a text and a vector per feature in, each of them optional; vectors in the joint space out."""
    features = model.inputs.features
    vectors = {name: [np.linspace(-1, 1, dim).round(3).tolist()] for name, dim in features.items()}
    return Signature(
        description="Embeds captions and clips in one space. Input: `caption`, a column of vectors for each of some "
        "features, or both; output: a column of vectors for each.",
        example_input='{"caption": ["a man cooks rice"]}',
        example_output="text",
        inputs=(
            Column("caption", "text", required=False),
            *(Column(name, "doubles", required=False) for name in features),
        ),
        outputs=tuple(Column(name, "floats", required=False) for name in ("text", *features)),
        example_row={"caption": ["a person cooks rice"], **vectors},
    )
