"""The distances of a data set's pairs under a Siamese network: metrics and decisions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int64, UInt8
from torch import Tensor

from vtr_core.config.run import TrainConfig
from vtr_core.data.batches import ImageBatch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup, row_groups
from vtr_core.data.reading.evaluated_rows import read_images
from vtr_core.data.records.arrays import FacePair, load_pairs
from vtr_core.data.records.schema import require_images
from vtr_core.data.sources.faces import read_sized
from vtr_core.embedding.embedded_rows import evaluating
from vtr_core.errors import CheckpointError, ConfigError, DatasetError
from vtr_core.losses.pair import contrastive, double_margin
from vtr_core.storage import locate
from vtr_core.systems.loaded_model import PairDecision, TrainedModel
from vtr_core.systems.siamese.config import PairContrastiveConfig, PairDoubleMarginConfig
from vtr_core.systems.siamese.model import PairDistance, Siamese, pair_distance


@dataclass(frozen=True)
class EncodedFaces:
    """Images of a data set in the order of its files, by id, with their encodings."""

    image_id: tuple[str, ...]
    subject: tuple[str, ...]
    vectors: Float32[np.ndarray, "images dim"]


@dataclass(frozen=True)
class ScoredPairs:
    """The pairs of a data set's list, in its order, with their distances and subjects."""

    pairs: tuple[FacePair, ...]
    subjects: tuple[tuple[str, str], ...]
    distance: Float[np.ndarray, " pairs"]

    @property
    def different(self) -> Bool[np.ndarray, " pairs"]:
        """Whether each pair is of two different subjects."""
        return np.array([pair.different for pair in self.pairs], np.bool_)

    @property
    def fold(self) -> tuple[int, ...]:
        """The fold of each pair."""
        return tuple(pair.fold for pair in self.pairs)


def pair_loss(config: TrainConfig) -> PairContrastiveConfig | PairDoubleMarginConfig:
    """The loss of a Siamese network's configuration."""
    assert isinstance(config.loss, PairContrastiveConfig | PairDoubleMarginConfig), "checked when the run began"
    return config.loss


def paper_threshold(config: TrainConfig) -> float:
    """The paper's decision threshold: the margin; for a double margin that of matching pairs."""
    loss = pair_loss(config)
    return loss.margin if isinstance(loss, PairContrastiveConfig) else loss.margin_negative


def check_shape(model: Siamese, manifest: Manifest) -> None:
    """DatasetError unless the data set's images have the shape that the model was trained on."""
    schema, image = require_images(manifest.schema, manifest.uri), model.config.image
    if schema.shape != (image.height, image.width, image.channels):
        raise DatasetError(
            f"{manifest.uri} has images of {schema.height} × {schema.width} × {schema.channels}, the model was trained "
            f"on {image.height} × {image.width} × {image.channels}; ingest them alike, with the same --size"
        )


def encode_faces(
    model: Siamese, config: TrainConfig, manifest: Manifest, places: Sequence[RowGroup] | None = None
) -> EncodedFaces:
    """Encodes the images in `places` (default: all) on the model's device; the model is left unchanged."""
    check_shape(model, manifest)
    rows = read_images(manifest, row_groups(manifest) if places is None else places)
    vectors = encode_pixels(model, rows.pixels, config.evaluation.batch_rows)
    return EncodedFaces(rows.image_id, rows.subject, vectors)


def encode_pixels(
    model: Siamese, pixels: UInt8[Tensor, "images channels height width"], batch_rows: int
) -> Float32[np.ndarray, "images dim"]:
    """The encodings of images, at most `batch_rows` at once."""
    device = model.head.weight.device
    vectors = [np.zeros((0, model.config.encoding_dim), np.float32)]
    with evaluating(model):
        for part in pixels.split(batch_rows):
            no_keys = torch.zeros(len(part), dtype=torch.int64)
            vectors.append(model(ImageBatch(part, no_keys, no_keys).to(device)).vectors.float().cpu().numpy())
    return np.concatenate(vectors)


def score_pairs(
    faces: EncodedFaces, manifest: Manifest, config: TrainConfig, kind: PairDistance | None = None
) -> ScoredPairs:
    """The distance of every pair of the data set's list; DatasetError where it names an image that does not exist.

    kind: the distance (default: the one that the loss compares).
    """
    pairs = load_pairs(manifest.source, manifest.location).pairs
    first, second = pair_rows(pairs, {image: row for row, image in enumerate(faces.image_id)}, manifest)
    vectors = torch.from_numpy(faces.vectors)
    distance = pair_distance(vectors[first], vectors[second], kind or pair_loss(config).distance).double().numpy()
    subjects = tuple((faces.subject[a], faces.subject[b]) for a, b in zip(first, second, strict=True))
    return ScoredPairs(pairs, subjects, distance)


def pair_rows(
    pairs: Sequence[FacePair], at: Mapping[str, int], manifest: Manifest
) -> tuple[Int64[np.ndarray, " pairs"], Int64[np.ndarray, " pairs"]]:
    """The rows of the two images of each pair; DatasetError for an image that is not among `at`."""
    missing = next((image for pair in pairs for image in (pair.first, pair.second) if image not in at), None)
    if missing is not None:
        raise DatasetError(f"the pairs of {manifest.uri} name {missing!r}, which it does not hold; rebuild it")
    return np.array([at[pair.first] for pair in pairs]), np.array([at[pair.second] for pair in pairs])


def mean_loss(
    distances: Float[np.ndarray, " pairs"], are_different: Bool[np.ndarray, " pairs"], config: TrainConfig
) -> float:
    """The configured loss, Equation 4 or 5, as its mean over the pairs."""
    loss, distance, different = pair_loss(config), torch.from_numpy(distances), torch.from_numpy(are_different)
    if isinstance(loss, PairContrastiveConfig):
        return float(contrastive(distance, different, loss.margin, "mean"))
    return float(double_margin(distance, different, loss.margin_positive, loss.margin_negative, "mean"))


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


def decision_threshold(loaded: TrainedModel, threshold: float | None) -> float:
    """The given threshold, or the one that the model stores from validation; ConfigError without a finite one."""
    if threshold is not None:
        if not math.isfinite(threshold):
            raise ConfigError(f"--threshold is {threshold:g}; it must be a finite distance")
        return threshold
    threshold = float(siamese(loaded).threshold)
    if not math.isfinite(threshold):
        raise ConfigError(
            f"{loaded.uri} was saved before any validation, so it knows no threshold; give one with --threshold, or "
            "train with --validation"
        )
    return threshold
