"""Inputs common to evaluations: device, short names of data sets, and requested knock-outs."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from vtr_core.data.manifest import Manifest
    from vtr_core.systems.knock_out import KnockOuts
    from vtr_core.train.checkpoint.load import LoadedModel


def device() -> str:
    """The first GPU if there is one, else the CPU."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def short_names(manifests: "Sequence[Manifest]") -> list[str]:
    """A short name for each data set: its folder's, preceded by as many parents' as tell them apart.

    The settings of a store, after `?`, are left out, and what MLflow takes in no name becomes `_`. Data sets that are
    given twice are numbered.
    """
    parts = [re.sub(r"[^\w.\- /]", "_", one.uri.partition("?")[0]).strip("/").split("/") for one in manifests]
    for depth in range(1, max(map(len, parts), default=0) + 1):
        short = ["-".join(part[-depth:]) for part in parts]
        if len(set(short)) == len(short):
            return short
    return [f"{'-'.join(part[-2:])}-{number}" for number, part in enumerate(parts, start=1)]


def asked_knock_outs(loaded: "LoadedModel", names: Sequence[str]) -> "KnockOuts":
    """The knock-outs of `--knock-out`; ConfigError for those that the model does not support."""
    from vtr_core.run.models import system_of

    offered = system_of(loaded.config.model).implementation().knock_outs(loaded.model)
    for name in names:
        if name not in offered:
            known = ", ".join(offered) or "none"
            raise ConfigError(f"vtr evaluate: --knock-out {name}: {loaded.config.model.kind!r} can go without {known}")
    return {name: offered[name] for name in names}
