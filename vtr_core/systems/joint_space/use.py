"""How a registered model of clips is used."""

import numpy as np

from vtr_core.run.models import ModelConfig
from vtr_core.systems.use import Column, Use


def use(model: ModelConfig) -> Use:
    """A text and a vector for each feature in, each of them optional; vectors in the joint space out."""
    features = model.inputs.features
    vectors = {name: [np.linspace(-1, 1, dim).round(3).tolist()] for name, dim in features.items()}
    return Use(
        text="Embeds captions and clips in one space. In: a table with a column `caption`, or a column of feature "
        "vectors for each of some features, or both; out: a column of vectors for each.",
        given='{"caption": ["a man cooks rice"]}',
        asked="text",
        takes=(
            Column("caption", "text", required=False),
            *(Column(name, "doubles", required=False) for name in features),
        ),
        gives=tuple(Column(name, "floats", required=False) for name in ("text", *features)),
        example={"caption": ["a person cooks rice"], **vectors},
    )
