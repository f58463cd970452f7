"""Trainings of the rows of the thesis's tables: a preset's variant, changes in it, and the tagger of its data."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from vtr_core.config.override import override
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset

TAGGERS: Mapping[str, str] = MappingProxyType(
    {
        "treetagger": "--tagger treetagger:FOLDER",
        "wordnet": "--tagger wordnet:FOLDER",
        "spacy": "--tagger default, or spacy:NAME",
    }
)
"""Names of the thesis's taggers, and their flags for `vtr ingest` and `vtr concepts`."""
SINGLE, FUSED = "equal-latent", "equal-latent-fused"
"""A latent space alone, and two trainings of it whose scores are added."""


@dataclass(frozen=True)
class Training:
    """One way of training: a variant of the base, and the tagger of its data."""

    variant: str
    tagger: str | None = None

    def config(self, base: str, changes: Mapping[str, Any]) -> TrainConfig:
        """The complete configuration, with `changes` applied to all runs."""
        return override(preset(f"{base}-{self.variant}" if self.variant else base), changes)


def _tagged(prefix: str, variant: str) -> dict[str, Training]:
    return {f"{prefix}pos-{tagger}": Training(variant, tagger=tagger) for tagger in TAGGERS}


TRAININGS: Mapping[str, Training] = MappingProxyType(
    {
        "": Training(""),
        **_tagged("", "pos"),
        "concept": Training("concept"),
        **_tagged("concept-", "concept-pos"),
        "interpretable": Training("interpretable"),
        "concept-256": Training("concept-256"),
        "causal": Training("causal"),
        "cosine": Training("cosine"),
        "cosine-256": Training("cosine-256"),
        "latent": Training("latent"),
        "latent-alone": Training("latent-alone"),
        "equal": Training("equal"),
        "equal-latent": Training("equal-latent"),
        "equal-homogeneous": Training("equal-homogeneous"),
        "equal-heterogeneous": Training("equal-heterogeneous"),
    }
)
"""Trainings by the name of a row's variant."""
