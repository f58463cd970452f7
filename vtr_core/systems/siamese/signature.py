"""The signature of a registered Siamese network."""

from vtr_core.systems.siamese.config import SiameseConfig
from vtr_core.systems.signature import Column, Signature


def signature(model: SiameseConfig) -> Signature:
    """The signature: the pixels of an image in, row by row; its encoding out."""
    image = model.image
    return Signature(
        description="Encodes images of faces. Input: `pixels`, values from 0 to 255 row by row; output: `encoding`.",
        example_input='{"pixels": [pixels]}',
        example_output="encoding",
        inputs=(Column("pixels", "integers"),),
        outputs=(Column("encoding", "floats"),),
        example_row={"pixels": [[i % 256 for i in range(image.height * image.width * image.channels)]]},
    )
