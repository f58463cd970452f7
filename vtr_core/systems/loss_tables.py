"""What losses look up by the keys of a batch's rows: labels and statistics of the training captions."""

from dataclasses import dataclass

from vtr_core.data.captions.information import InformationTable
from vtr_core.data.captions.references import ReferenceTable
from vtr_core.data.concepts.table import ConceptTable


@dataclass(frozen=True)
class LossTables:
    """Tables of the training data's captions; None where a configuration's loss needs none."""

    concepts: ConceptTable | None = None
    """The soft labels of a model with a concept space."""
    information: InformationTable | None = None
    """The information content of captions, for a granularity margin."""
    references: ReferenceTable | None = None
    """All captions of every clip, for a loss that scores generated captions."""


NO_TABLES = LossTables()
"""Of a loss that needs batches alone."""
