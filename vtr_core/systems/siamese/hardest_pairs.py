"""A page of the hardest pairs: matching pairs of large distance, different pairs of small distance."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import UInt8
from torch import Tensor

from vtr_core.data.reading.images import ImageRows
from vtr_core.retrieval.explain.page import page_environment
from vtr_core.systems.siamese.verification import ScoredPairs, hardest

TEMPLATE = "hardest_pairs.html"


@dataclass(frozen=True)
class ShownPair:
    """A pair for the page; pictures are data URIs."""

    first: str
    second: str
    first_picture: str
    second_picture: str
    distance: float
    wrong: bool


@dataclass(frozen=True)
class ShownKind:
    """The hardest pairs of one kind."""

    title: str
    pairs: Sequence[ShownPair]


def hardest_pairs(scored: ScoredPairs, rows: ImageRows, threshold: float, count: int) -> list[ShownKind]:
    """The `count` hardest pairs of each kind, the hardest first."""
    at = {image: row for row, image in enumerate(rows.image_id)}
    chosen = hardest(scored, count)
    return [
        ShownKind(title, [_shown(scored, rows, at, index, threshold) for index in chosen[kind]])
        for kind, title in (("matching", "the same face, far apart"), ("different", "different faces, near each other"))
    ]


def _shown(scored: ScoredPairs, rows: ImageRows, at: dict[str, int], index: int, threshold: float) -> ShownPair:
    pair, distance = scored.pairs[index], float(scored.distance[index])
    return ShownPair(
        first=pair.first,
        second=pair.second,
        first_picture=picture(rows.pixels[at[pair.first]]),
        second_picture=picture(rows.pixels[at[pair.second]]),
        distance=distance,
        wrong=(distance > threshold) != pair.different,
    )


def picture(pixels: UInt8[Tensor, "channels height width"]) -> str:
    """The image as a PNG in a data URI."""
    from PIL import Image

    values: np.ndarray = pixels.permute(1, 2, 0).numpy()
    content = io.BytesIO()
    Image.fromarray(values[:, :, 0] if values.shape[2] == 1 else values).save(content, "PNG")
    return f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}"


def render_hardest(sets: Sequence[tuple[str, Sequence[ShownKind]]], checkpoint: str, threshold: float) -> str:
    """The page as HTML, with the distance that decided. All text is escaped: ids are arbitrary strings."""
    return page_environment().get_template(TEMPLATE).render(sets=sets, checkpoint=checkpoint, threshold=threshold)
