"""What the rows of the thesis's tables are trained with: a preset's variant, changes in it, and whose tags."""

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
"""The thesis's taggers by name, and what asks `vtr ingest` and `vtr concepts` for them."""
SINGLE, FUSED = "equal-latent", "equal-latent-fused"
"""A latent space alone, and two trainings of it whose scores are added."""


@dataclass(frozen=True)
class Training:
    """One way of training: a variant of the base, and whose tags its data has."""

    variant: str
    tagger: str | None = None

    def config(self, base: str, changes: Mapping[str, Any]) -> TrainConfig:
        """The whole configuration, with `changes` of all runs."""
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
"""By the name of a row's variant."""
