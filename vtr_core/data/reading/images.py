"""The images of a data set for evaluation, with their subjects."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import UInt8
from torch import Tensor

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import RowGroup, row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.records.binary_columns import as_rows
from vtr_core.data.records.required_kind import require_images
from vtr_core.data.records.schema import PIXEL_DTYPE, PIXELS
from vtr_core.errors import DatasetError

_SHOWN = 3


@dataclass(frozen=True)
class ImageRows:
    """Images of row groups in file order."""

    image_id: tuple[str, ...]
    subject: tuple[str, ...]
    pixels: UInt8[Tensor, "images channels height width"]


def read_images(manifest: Manifest, places: Sequence[RowGroup]) -> ImageRows:
    """All images of the row groups `places`; SchemaMismatch for data sets of other kinds."""
    schema = require_images(manifest.schema, manifest.uri)
    reader = RowGroupReader(manifest, ["image_id", "subject", PIXELS])
    ids: list[str] = []
    subjects: list[str] = []
    pixels = [np.zeros((0, schema.height * schema.width * schema.channels), PIXEL_DTYPE)]
    for place in places:
        columns = reader.read_arrow(place)
        ids += columns["image_id"].to_pylist()
        subjects += columns["subject"].to_pylist()
        pixels.append(as_rows(columns[PIXELS], PIXEL_DTYPE))
    whole = torch.from_numpy(np.concatenate(pixels)).view(-1, *schema.shape)
    return ImageRows(tuple(ids), tuple(subjects), whole.permute(0, 3, 1, 2).contiguous())


def subjects_of(manifest: Manifest) -> tuple[str, ...]:
    """The distinct subjects of a data set of images, sorted."""
    require_images(manifest.schema, manifest.uri)
    reader = RowGroupReader(manifest, ["subject"])
    found = {name for place in row_groups(manifest) for name in reader.read_arrow(place)["subject"].to_pylist()}
    return tuple(sorted(found))


def require_other_subjects(one: Manifest, other: Manifest, roles: str) -> None:
    """DatasetError where two data sets share a subject; `roles`, such as "training and validation", is for the message.

    Verification of training subjects does not measure generalisation to unseen ones.
    """
    shared = sorted(set(subjects_of(one)) & set(subjects_of(other)))
    if shared:
        named = ", ".join(shared[:_SHOWN]) + (f" and {len(shared) - _SHOWN} more" if len(shared) > _SHOWN else "")
        raise DatasetError(
            f"{roles} share {len(shared)} subjects: {named} are in {one.uri} and in {other.uri}; "
            "split by subject, as vtr ingest faces --validation … --test … does"
        )
