"""Training of a Siamese network: all pairs of a batch of images, with verification as validation."""

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from vtr_core.data.batches.images import ImageBatch, image_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import row_groups
from vtr_core.data.reading.row_groups import Columns
from vtr_core.data.records.face_pairs import load_pairs
from vtr_core.fingerprint import key64
from vtr_core.losses.share import Share
from vtr_core.metrics.standing import slices
from vtr_core.metrics.verification import equal_error_threshold, verification_metrics
from vtr_core.nn.pair_distance import pair_distance
from vtr_core.nn.precision import at_least_float32
from vtr_core.run.config import TrainConfig
from vtr_core.systems.siamese.config import SiameseConfig
from vtr_core.systems.siamese.identity_augmentation import new_identities
from vtr_core.systems.siamese.images import AffineTransforms, draw_transforms
from vtr_core.systems.siamese.loss import PairObjective, margin_of
from vtr_core.systems.siamese.model import Siamese
from vtr_core.systems.siamese.verification import (
    EncodedFaces,
    encode_faces,
    mean_loss,
    pair_loss,
    pair_rows,
    paper_threshold,
)
from vtr_core.systems.task import MOST_ROWS, Compared, StepOutput
from vtr_core.text.tokens.vocabulary import Vocabulary
from vtr_core.train.distributed.gather import gather_integers, gather_rows, sum_shares
from vtr_core.train.distributed.row_shares import SharedVectors, contiguous_share, gather_columns

PAIRS_AT_ONCE = 4096
"""Pairs whose encodings are fetched together."""


class VerificationTask:
    """L = Σ over pairs of the whole batch + the tower's own penalties; see `PairObjective`.

    A batch has `batch.clips_per_video` images of each of `batch.videos` subjects.
    """

    def __init__(self, config: TrainConfig, rank: int, world: int) -> None:
        assert isinstance(config.model, SiameseConfig)
        self._config, self._model = config, config.model
        self._rank, self._world = rank, world
        self.objective = PairObjective(pair_loss(config))

    def step(self, model: nn.Module, columns: Columns, step: int, device: torch.device) -> StepOutput:
        """Encodes this worker's part, gathers the batch, and sums all workers' shares of the loss."""
        image = self._model.image
        batch = image_batch(columns, (image.height, image.width, image.channels)).to(device)
        transforms, batch = self._transforms(batch, step)
        found = model(batch, transforms)
        keys = gather_integers(torch.stack([batch.image_key, batch.subject_key], dim=1))
        vectors = gather_rows(found.vectors, self._config.scaling.wire)
        pairs = self.objective(vectors, keys[:, 0], keys[:, 1], Share(self._rank, self._world))
        own = found.penalty / self._world + found.reconstruction.sum() / len(keys)
        total, of_pairs = sum_shares(torch.stack([pairs.total + own, pairs.total])).unbind()
        metrics = {f"train/{name}": value for name, value in pairs.metrics.items()}
        metrics["train/loss_pairs"] = of_pairs.detach()
        return StepOutput(total, metrics, self._compared(found.vectors.detach()))

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
        model.decides_at(values["val/threshold"])
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
