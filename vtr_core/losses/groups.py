"""The groups of modalities that the loss of a batch sums over, each with the rows in which all of them are present."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from jaxtyping import Bool, Float
from torch import Tensor

from vtr_core.nn.embeddings import TEXT, Embeddings

FIRST = (TEXT, "video", "audio")
"""The order of modalities in the name of a group; further ones follow by name."""


@dataclass(frozen=True)
class Group:
    """The vectors to contrast, one tensor per modality, and the rows that take part; `name` joins modalities by "_"."""

    name: str
    modalities: tuple[Float[Tensor, "batch ..."], ...]
    rows: Bool[Tensor, " batch"]


def modality_pairs(embeddings: Embeddings) -> list[Group]:
    """Every pair of modalities (text_video, text_audio, video_audio, …) over the rows where both are present."""
    present, vectors = embeddings.present, embeddings.vectors
    return [
        Group(f"{a}_{b}", (vectors[a], vectors[b]), present[a] & present[b])
        for a, b in combinations(in_order(vectors), 2)
    ]


def in_order(modalities: Mapping[str, Tensor]) -> list[str]:
    """The names of modalities in the order of FIRST."""
    return sorted(modalities, key=lambda name: (FIRST.index(name), "") if name in FIRST else (len(FIRST), name))
