"""Training of a Siamese network on all pairs of a batch of images, and its `Implementation`."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, UInt8
from torch import Tensor, nn

from vtr_core.config.run import TrainConfig
from vtr_core.data.batches import ImageBatch, image_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import Columns
from vtr_core.data.records.arrays import load_pairs
from vtr_core.embedding.collectives import (
    SharedVectors,
    contiguous_share,
    gather_columns,
    gather_integers,
    gather_rows,
    sum_shares,
)
from vtr_core.errors import InputError
from vtr_core.fingerprint import key64
from vtr_core.losses.objective import Share
from vtr_core.metrics.ranks import slices
from vtr_core.metrics.verification import equal_error_threshold, verification_metrics
from vtr_core.nn.precision import at_least_float32
from vtr_core.systems.implementation import MOST_ROWS, NO_TABLES, Compared, Implementation, LossTables, StepOutput
from vtr_core.systems.loaded_model import Column, Signature, TrainedModel
from vtr_core.systems.siamese.config import ImageShape, SiameseConfig
from vtr_core.systems.siamese.face_images import AffineTransforms, draw_transforms, new_identities
from vtr_core.systems.siamese.model import PairObjective, Siamese, margin_of, pair_distance
from vtr_core.systems.siamese.verification import (
    EncodedFaces,
    decide,
    encode_faces,
    encode_pixels,
    mean_loss,
    pair_loss,
    pair_rows,
    paper_threshold,
)
from vtr_core.text.tokens.vocabulary import Vocabulary

PAIRS_AT_ONCE = 4096
"""Pairs whose encodings are fetched together."""


class VerificationTask:
    """L = Σ over pairs of the whole batch + the tower's own penalties; see `PairObjective`.

    A batch has `batch.clips_per_video` images of each of `batch.videos` subjects.
    """

    def __init__(
        self,
        config: TrainConfig,
        rank: int,
        world: int,
        tables: LossTables = NO_TABLES,  # noqa: ARG002  all systems' are called alike
    ) -> None:
        assert isinstance(config.model, SiameseConfig)
        self._config, self._model = config, config.model
        self._rank, self._world = rank, world
        self.objective = PairObjective(pair_loss(config))

    def step(self, model: nn.Module, columns: Columns, step: int, device: torch.device) -> StepOutput:
        """Encodes this worker's part, gathers the batch, and sums all workers' shares of the loss."""
        image = self._model.image
        batch = image_batch(columns, (image.height, image.width, image.channels)).to(device)
        transforms, batch = self._transforms(batch, step)
        encodings = model(batch, transforms)
        keys = gather_integers(torch.stack([batch.image_key, batch.subject_key], dim=1))
        vectors = gather_rows(encodings.vectors, self._config.scaling.wire)
        pairs = self.objective(vectors, keys[:, 0], keys[:, 1], Share(self._rank, self._world))
        own = encodings.penalty / self._world + encodings.reconstruction.sum() / len(keys)
        total, of_pairs = sum_shares(torch.stack([pairs.total + own, pairs.total])).unbind()
        metrics = {f"train/{name}": value for name, value in pairs.metrics.items()}
        metrics["train/loss_pairs"] = of_pairs.detach()
        return StepOutput(total, metrics, self._compared(encodings.vectors.detach()))

    def _compared(self, vectors: Float[Tensor, "rows dim"]) -> Compared:
        """This worker's encodings, and their distances divided by the margin."""
        vectors, loss = at_least_float32(vectors[:MOST_ROWS]), pair_loss(self._config)

        def distances() -> Tensor:
            return pair_distance(vectors[:, None], vectors[None], loss.distance) / margin_of(loss)

        return Compared({"face": vectors}, {"face_face": distances}, is_bounded=True)

    def _transforms(self, batch: ImageBatch, step: int) -> tuple[AffineTransforms | None, ImageBatch]:
        """The affine transforms of this worker's images, and the batch with the resulting subject keys.

        They are drawn for the whole batch, so that they do not depend on the number of workers.
        """
        settings = self._model.augmentation
        if settings.is_none:
            return None, batch
        generator = torch.Generator().manual_seed((self._config.seed * 1_000_003 + step) % 2**63)
        first = self._rank * batch.rows
        transforms = draw_transforms(batch.rows * self._world, settings, generator)[first : first + batch.rows]
        if not settings.makes_identities:
            return transforms, batch
        made = new_identities(batch.subject_key.cpu(), settings, generator)  # drawn on the CPU
        transforms = replace(transforms, mirror=transforms.mirror * made.mirror, stretch=made.stretch)
        return transforms, replace(batch, subject_key=made.key.to(batch.subject_key.device))

    def evaluate(self, model: nn.Module, manifest: Manifest, vocabulary: Vocabulary) -> dict[str, float]:  # noqa: ARG002
        """Verification of the validation pairs; stores their equal-error threshold in the model."""
        assert isinstance(model, Siamese)
        places = contiguous_share(row_groups(manifest), self._rank, self._world)
        own = encode_faces(model, self._config, manifest, places)
        distance, different = shared_distances(own, manifest, self._config, self._rank, model.head.weight.device)
        threshold = equal_error_threshold(distance, different)
        at_threshold = verification_metrics(distance, different, threshold)
        at_margin = verification_metrics(distance, different, paper_threshold(self._config))
        values = {f"val/{name}": value for name, value in at_threshold.flat().items()}
        values |= {
            "val/accuracy_at_margin": at_margin.accuracy,
            "val/loss": mean_loss(distance, different, self._config),
        }
        model.threshold.fill_(threshold)
        return values


def shared_distances(
    own: EncodedFaces, manifest: Manifest, config: TrainConfig, rank: int, device: torch.device
) -> tuple[Float[np.ndarray, " pairs"], Bool[np.ndarray, " pairs"]]:
    """The distance of each pair of the list and whether it is of different subjects: those of `score_pairs`, and equal
    on every worker.

    own: the images that this worker encoded. It holds the keys of all images and, beside its own encodings, those of
    PAIRS_AT_ONCE pairs at a time. DatasetError, on every worker, where the list names an image that does not exist.
    """
    keys = np.array([key64(name) for name in own.image_id], np.int64)
    (held,), starts = gather_columns([keys], device)
    row_of = dict(zip(held.tolist(), range(len(held)), strict=True))
    pairs = load_pairs(manifest.source, manifest.location).pairs
    names = {name for pair in pairs for name in (pair.first, pair.second)}
    at = {name: row_of[key] for name in names if (key := key64(name)) in row_of}
    rows = np.stack(pair_rows(pairs, at, manifest))
    vectors, distance = SharedVectors(own.vectors, starts, rank, device), np.empty(len(pairs), np.float64)
    for part in slices(len(pairs), PAIRS_AT_ONCE):
        needed, places = np.unique(rows[:, part], return_inverse=True)
        first, second = vectors.fetch(needed)[places.reshape(2, -1)]
        distance[part] = pair_distance(first, second, pair_loss(config).distance).double().numpy()
    return distance, np.array([pair.different for pair in pairs], np.bool_)


def predict(loaded: TrainedModel, table: pd.DataFrame) -> pd.DataFrame:
    """In: `pixels`, the values of an image row by row from 0 to 255; out: `encoding`."""
    assert isinstance(loaded.model, Siamese)
    pixels = pixels_of(table, loaded.model.config.image)
    vectors = encode_pixels(loaded.model, pixels, loaded.config.evaluation.batch_rows)
    return pd.DataFrame({"encoding": list(vectors)}, index=table.index, dtype=object)


def pixels_of(table: pd.DataFrame, image: ImageShape) -> UInt8[Tensor, "rows channels height width"]:
    """The images of the column `pixels`: integers from 0 to 255, row by row, channels last."""
    if "pixels" not in table.columns:
        raise InputError(f"the table has the columns {', '.join(map(str, table.columns))}; the model takes pixels")
    rows = [_image(value, row, image) for row, value in enumerate(table["pixels"])]
    stacked = np.stack(rows) if rows else np.zeros((0, image.height, image.width, image.channels), np.uint8)
    return torch.from_numpy(stacked).permute(0, 3, 1, 2).contiguous()


def _image(value: Any, row: int, image: ImageShape) -> UInt8[np.ndarray, "height width channels"]:
    shape = (image.height, image.width, image.channels)
    try:
        values = np.asarray(value, np.float64).reshape(shape)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"pixels of row {row} are no image of {image.height} × {image.width} × {image.channels} ({error})"
        ) from error
    if not ((values >= 0) & (values <= 255) & (values == np.rint(values))).all():
        raise InputError(f"pixels of row {row} are not whole numbers from 0 to 255")
    return values.astype(np.uint8)


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


IMPLEMENTATION = Implementation(
    build=lambda config, vectors, statistics: Siamese(config),  # noqa: ARG005  it reads no words or features
    task=VerificationTask,
    predict=predict,
    signature=signature,
    decide=decide,
)
