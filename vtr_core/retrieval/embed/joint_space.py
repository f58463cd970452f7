"""How captions and videos are embedded in one joint space: what a system gives evaluation, index and search."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32
from torch import nn

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import RowGroup
from vtr_core.retrieval.embed.clips import EmbeddedRows
from vtr_core.run.config import TrainConfig
from vtr_core.text.tokens.vocabulary import Vocabulary


@dataclass(frozen=True)
class JointSpace:
    """Functions of a model, of its run's configuration and of the vocabulary that it was trained with."""

    check: Callable[[TrainConfig, Manifest], None]
    """DatasetError unless the data set has the features that the model takes."""
    rows: Callable[[nn.Module, TrainConfig, Manifest, Vocabulary, Sequence[RowGroup]], EmbeddedRows]
    """The rows in some row groups, in file order; the model, on whose device it is done, is left as it was."""
    queries: Callable[
        [nn.Module, TrainConfig, Vocabulary, Sequence[str]],
        tuple[Float32[np.ndarray, "captions dim"], Bool[np.ndarray, " captions"]],
    ]
    """The vector of every caption, and whether any of its words is known; where none is, the vector is 0."""
