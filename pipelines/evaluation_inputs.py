"""What every evaluation of a checkpoint settles first: where to compute, and what to call the data sets."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from vtr_core.data.manifest import Manifest
    from vtr_core.train.checkpoint.load import LoadedModel


def device() -> str:
    """The first GPU where there is one, else the CPU."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def require_joint_space(loaded: "LoadedModel", what: str) -> None:
    """ConfigError unless the model embeds clips in one joint space, which `what` needs."""
    from vtr_core.run.models import reads_images, reads_videos

    if loaded.config.model.kind == "hybrid_encoder":
        raise ConfigError(
            f"{what} needs a model of clips in one joint space; {loaded.uri} is a dual encoder of whole videos, "
            "for which there are vtr evaluate, vtr search and vtr analyze"
        )
    if reads_images(loaded.config.model):
        raise ConfigError(
            f"{what} needs a model of clips; {loaded.uri} is a Siamese network of images, for which there are "
            "vtr evaluate --task verification and vtr verify"
        )
    if loaded.config.model.kind == "captioner":
        raise ConfigError(
            f"{what} needs a model of clips in one joint space; {loaded.uri} is a captioner, for which there are "
            "vtr evaluate --task captioning and vtr caption"
        )
    if reads_videos(loaded.config.model):
        raise ConfigError(
            f"{what} needs a model of clips; {loaded.uri} is a {loaded.config.model.kind!r} model of whole videos, "
            "for which there are vtr evaluate, vtr index and vtr search"
        )


def short_names(manifests: "Sequence[Manifest]") -> list[str]:
    """A short name for each data set: its folder's, with the parent's where two would be the same."""
    parts = [manifest.uri.rstrip("/").split("/") for manifest in manifests]
    short = [part[-1] for part in parts]
    if len(set(short)) == len(short):
        return short
    return ["-".join(part[-2:]) for part in parts]
