"""`vtr verify CHECKPOINT a.pgm b.pgm`: whether two images show the same face."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro

from pipelines.arguments import parse, print_help, wants_help

PROG = "vtr verify"


@dataclass(frozen=True)
class VerifyFlags:
    """Two images, and what to compare them with."""

    checkpoint: Annotated[str, tyro.conf.Positional]
    """A checkpoint folder, a run folder, whose best checkpoint is taken, or models:/NAME@ALIAS, a registered one."""
    first: Annotated[str, tyro.conf.Positional]
    """An image: PGM, PNG or JPEG."""
    second: Annotated[str, tyro.conf.Positional]
    """The other one."""
    threshold: float | None = None
    """Distance above which they show different faces (default: where validation's error rates are equal)."""
    resize: bool = False
    """Bring images of another size to the one that the model was trained on, whatever that does to faces."""


@dataclass(frozen=True)
class Verified:
    """The decision on two images."""

    same: bool
    distance: float
    threshold: float


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help(PROG, VerifyFlags)
        return
    found = verify(parse(VerifyFlags, argv, PROG))
    print(f"{'same' if found.same else 'different'}  distance {found.distance:.4f}  threshold {found.threshold:.4f}")


def verify(flags: VerifyFlags) -> Verified:
    """The distance of two images, and whether it is at most the threshold."""
    import torch

    from pipelines.evaluation_inputs import device
    from vtr_core.data.sources.faces.image_file import read_sized
    from vtr_core.nn.pair_distance import pair_distance
    from vtr_core.storage import locate
    from vtr_core.systems.siamese.commands.evaluate import decision_threshold, siamese
    from vtr_core.systems.siamese.verification import encode_pixels, pair_loss
    from vtr_core.train.checkpoint.load import load_model

    loaded = load_model(flags.checkpoint, device())
    model, threshold = siamese(loaded), decision_threshold(loaded, flags.threshold)
    image = model.config.image
    shape = image.height, image.width, image.channels
    arrays = [read_sized(locate(place), shape, flags.resize) for place in (flags.first, flags.second)]
    pixels = torch.stack([torch.from_numpy(array.copy()).permute(2, 0, 1) for array in arrays])
    vectors = torch.from_numpy(encode_pixels(model, pixels, 2))
    distance = float(pair_distance(vectors[0], vectors[1], pair_loss(loaded.config).distance))
    return Verified(distance <= threshold, distance, threshold)
