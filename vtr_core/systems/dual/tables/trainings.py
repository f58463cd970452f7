"""What the rows of the thesis's tables are trained with: a preset's variant, changes in it, and whose tags."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from vtr_core.config.override import override
from vtr_core.run.config import TrainConfig
from vtr_core.run.presets import preset
from vtr_core.systems.dual.config import HybridEncoderConfig

TAGGERS: Mapping[str, str] = MappingProxyType(
    {
        "treetagger": "--tagger treetagger:FOLDER",
        "wordnet": "--tagger wordnet:FOLDER",
        "spacy": "--tagger default, or spacy:NAME",
    }
)
"""The thesis's taggers by name, and what asks `vtr ingest` and `vtr concepts` for them."""
FUSED = "latent-small-fused"
"""Two trainings of `latent-small`, whose scores are added."""


@dataclass(frozen=True)
class Training:
    """One way of training; `same_dim`: the latent space is as large as the concept space."""

    variant: str
    same_dim: bool = False
    no_concepts: bool = False
    tagger: str | None = None

    def config(self, base: str, changes: Mapping[str, Any]) -> TrainConfig:
        """The whole configuration, with `changes` of all runs."""
        config = preset(f"{base}-{self.variant}" if self.variant else base)
        assert isinstance(config.model, HybridEncoderConfig)
        own: dict[str, Any] = {}
        if self.same_dim:
            own["model.latent_dim"] = config.model.num_concepts
        if self.no_concepts:
            own["model.num_concepts"] = None
        return override(config, {**own, **changes})


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
        "latent-alone": Training("", no_concepts=True),
        "latent-small": Training("", same_dim=True, no_concepts=True),
        "homogeneous": Training("homogeneous", same_dim=True),
        "heterogeneous": Training("heterogeneous", same_dim=True),
        "hybrid-small": Training("", same_dim=True),
    }
)
"""By the name of a row's variant."""
