"""Ways of training the spaces of a dual encoder: alone, or jointly with the same or different similarities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from vtr_core.errors import CheckpointError
from vtr_core.run.config import TrainConfig
from pipelines.systems.dual.analyze.complementarity.settings import Settings, settings_of, what_differs, without_sizes
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
    """What trainings share that differ in nothing but the seed."""

    coupling: Coupling
    latent_dim: int | None
    num_concepts: int | None
    settings: Settings

    @property
    def spaces(self) -> str:
        """The spaces and their coupling, for tables; ways with other settings may have the same."""
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


def names_of(ways: Sequence[WayOfTraining]) -> dict[WayOfTraining, str]:
    """A name of its own for every way: its spaces, and where others have the same ones the settings that differ."""
    return _told_apart({way: (way.spaces, way.settings) for way in ways})


def studies_of(ways: Sequence[WayOfTraining]) -> dict[WayOfTraining, str]:
    """For every way what tells its dimension study from others of the same spaces: settings other than dimensions."""
    named = _told_apart({way: (way.coupling, without_sizes(way.settings)) for way in ways})
    return {way: name.removeprefix(way.coupling) for way, name in named.items()}


def _told_apart(ways: Mapping[WayOfTraining, tuple[str, Settings]]) -> dict[WayOfTraining, str]:
    """Names of ways; equal settings have the same name, and others of that name have what differs behind it."""
    found = {}
    for way, (name, settings) in ways.items():
        alike = list(dict.fromkeys(other for known, other in ways.values() if known == name))
        found[way] = name + what_differs(alike)[alike.index(settings)]
    return found


def way_of_training(config: TrainConfig, origin: Mapping[str, str] | None = None) -> WayOfTraining:
    """The way of training of a run's configuration; CheckpointError if it is not a dual encoder's.

    origin: what else the training began with, such as its data.

    Two spaces are homogeneous where both are compared by a cosine. A space of concepts that is trained without their
    detection (concept_weight 0) is a second latent space (thesis, section 4.4).
    """
    model, loss = config.model, config.loss
    if not isinstance(model, HybridEncoderConfig) or not isinstance(loss, DualTripletConfig):
        raise CheckpointError(
            f"the checkpoint is of a {model.kind!r} model trained with {loss.kind!r}; this needs a 'hybrid_encoder' "
            "trained with 'dual_triplet', such as vtr train hybrid-msrvtt makes"
        )
    return WayOfTraining(_coupling(model, loss), model.latent_dim, model.num_concepts, settings_of(config, origin))


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
