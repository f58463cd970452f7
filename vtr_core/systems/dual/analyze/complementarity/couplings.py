"""Ways of training the spaces of a dual encoder: alone, or jointly with the same or different similarities."""

from dataclasses import dataclass
from typing import Literal, assert_never

from vtr_core.errors import CheckpointError
from vtr_core.run.config import TrainConfig
from vtr_core.systems.dual.config import DualTripletConfig, HybridEncoderConfig

Coupling = Literal[
    "latent",
    "concept",
    "coupled homogeneous",
    "coupled heterogeneous",
    "coupled homogeneous + concept",
    "coupled heterogeneous + concept",
]


@dataclass(frozen=True)
class WayOfTraining:
    """The properties shared by trainings that differ in their seed only."""

    coupling: Coupling
    latent_dim: int | None
    num_concepts: int | None

    @property
    def name(self) -> str:
        """Name for tables."""
        match self.coupling:
            case "latent":
                return f"latent {self.latent_dim}"
            case "concept":
                return f"concept {self.num_concepts}"
            case "coupled homogeneous" | "coupled heterogeneous":
                return f"latent {self.latent_dim} + latent {self.num_concepts}, {self.coupling}"
            case "coupled homogeneous + concept" | "coupled heterogeneous + concept":
                coupled = self.coupling.removesuffix(" + concept")
                return f"latent {self.latent_dim} + concept {self.num_concepts}, {coupled}"
            case _:
                assert_never(self.coupling)


def way_of_training(config: TrainConfig) -> WayOfTraining:
    """The way of training of a run's configuration; CheckpointError if it is not a dual encoder's.

    Two spaces are homogeneous where both are compared by a cosine. A space of concepts that is trained without their
    detection (concept_weight 0) is a second latent space (thesis, section 4.4).
    """
    model, loss = config.model, config.loss
    if not isinstance(model, HybridEncoderConfig) or not isinstance(loss, DualTripletConfig):
        raise CheckpointError(
            f"the checkpoint is of a {model.kind!r} model trained with {loss.kind!r}; this needs a 'hybrid_encoder' "
            "trained with 'dual_triplet', such as vtr train hybrid-msrvtt makes"
        )
    return WayOfTraining(_coupling(model, loss), model.latent_dim, model.num_concepts)


def _coupling(model: HybridEncoderConfig, loss: DualTripletConfig) -> Coupling:
    if model.num_concepts is None:
        return "latent"
    if model.latent_dim is None:
        return "concept"
    homogeneous, detects = model.concept_similarity == "cosine", loss.concept_weight != 0
    match homogeneous, detects:
        case True, False:
            return "coupled homogeneous"
        case False, False:
            return "coupled heterogeneous"
        case True, True:
            return "coupled homogeneous + concept"
        case _:
            return "coupled heterogeneous + concept"
