"""What every evaluation settles first: its device, short names of its data sets, and the knock-outs asked for."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from vtr_core.data.manifest import Manifest
    from vtr_core.systems.knock_out import KnockOuts
    from vtr_core.train.checkpoint.load import LoadedModel


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


def asked_knock_outs(loaded: "LoadedModel", names: Sequence[str]) -> "KnockOuts":
    """What `--knock-out` asks for, of what the model can go without; ConfigError for anything else."""
    from vtr_core.run.models import system_of

    offered = system_of(loaded.config.model).implementation().knock_outs(loaded.model)
    for name in names:
        if name not in offered:
            known = ", ".join(offered) or "none"
            raise ConfigError(f"vtr evaluate: --knock-out {name}: {loaded.config.model.kind!r} can go without {known}")
    return {name: offered[name] for name in names}
