"""Decision whether two images show the same face."""

import math

import torch

from vtr_core.data.sources.faces.image_file import read_sized
from vtr_core.errors import CheckpointError, ConfigError
from vtr_core.nn.pair_distance import pair_distance
from vtr_core.storage import locate
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.pair_decision import PairDecision
from vtr_core.systems.siamese.model import Siamese
from vtr_core.systems.siamese.verification import encode_pixels, pair_loss


def decide(loaded: TrainedModel, first: str, second: str, threshold: float | None, resize: bool) -> PairDecision:
    """The distance of two image files, and the threshold: the given one, or that of the model's validation.

    resize: resize images to the model's size. Raises ConfigError without any threshold, and InputError for a file that
    is no image of the model's kind.
    """
    model, decided = siamese(loaded), decision_threshold(loaded, threshold)
    image = model.config.image
    shape = image.height, image.width, image.channels
    arrays = [read_sized(locate(place), shape, resize) for place in (first, second)]
    pixels = torch.stack([torch.from_numpy(array.copy()).permute(2, 0, 1) for array in arrays])
    vectors = torch.from_numpy(encode_pixels(model, pixels, 2))
    distance = float(pair_distance(vectors[0], vectors[1], pair_loss(loaded.config).distance))
    return PairDecision(distance, decided)


def siamese(loaded: TrainedModel) -> Siamese:
    """The model of a checkpoint; CheckpointError if it is not a Siamese network."""
    if not isinstance(loaded.model, Siamese):
        raise CheckpointError(
            f"{loaded.uri} is of a {loaded.config.model.kind!r} model; verification needs one of 'siamese', such as "
            "vtr train siamese-att makes"
        )
    return loaded.model


def decision_threshold(loaded: TrainedModel, given: float | None) -> float:
    """The given threshold, or the one that the model stores from validation; ConfigError without a finite one."""
    if given is not None:
        if not math.isfinite(given):
            raise ConfigError(f"--threshold is {given:g}; it must be a finite distance")
        return given
    threshold = float(siamese(loaded).threshold)
    if not math.isfinite(threshold):
        raise ConfigError(
            f"{loaded.uri} was saved before any validation, so it knows no threshold; give one with --threshold, or "
            "train with --validation"
        )
    return threshold
