"""Device of an evaluation, and short names of its data sets."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vtr_core.data.manifest import Manifest


def device() -> str:
    """The first GPU where there is one, else the CPU."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def short_names(manifests: "Sequence[Manifest]") -> list[str]:
    """A short name for each data set: its folder's, with the parent's where two would be the same."""
    parts = [manifest.uri.rstrip("/").split("/") for manifest in manifests]
    short = [part[-1] for part in parts]
    if len(set(short)) == len(short):
        return short
    return ["-".join(part[-2:]) for part in parts]
