"""How a registered Siamese network is used."""

from vtr_core.systems.siamese.config import SiameseConfig
from vtr_core.systems.use import Column, Use


def use(model: SiameseConfig) -> Use:
    """The pixels of an image in, row by row; its encoding out."""
    image = model.image
    return Use(
        text="Encodes images of faces. In: a table with a column `pixels`, values from 0 to 255 row by row; out: "
        "`encoding`.",
        given='{"pixels": [pixels]}',
        asked="encoding",
        takes=(Column("pixels", "integers"),),
        gives=(Column("encoding", "floats"),),
        example={"pixels": [[i % 256 for i in range(image.height * image.width * image.channels)]]},
    )
