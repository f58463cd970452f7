"""The tables that a configuration's loss needs, of its training data."""

from vtr_core.data.captions.information import cache_folder, training_information
from vtr_core.data.captions.references import training_references
from vtr_core.data.concepts.table import ConceptTable
from vtr_core.data.manifest import Manifest
from vtr_core.run.config import TrainConfig
from vtr_core.run.models import system_of
from vtr_core.systems.loss_tables import LossTables
from vtr_core.text.tokens.vocabulary import Vocabulary


def loss_tables(
    config: TrainConfig, manifest: Manifest, vocabulary: Vocabulary, concepts: ConceptTable | None
) -> LossTables:
    """The tables of the captions of `manifest`; `concepts`: the labels of a model with a concept space."""
    system = system_of(config.model)
    margin = system.granularity(config.loss)
    return LossTables(
        concepts,
        None if margin is None else training_information(manifest, margin.reading, cache_folder()),
        training_references(manifest, vocabulary) if system.scores_captions(config.loss) else None,
    )
