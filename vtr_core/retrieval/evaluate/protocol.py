"""The similarities that a retrieval figure depends on."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from vtr_core.config.losses.contrastive import ContrastiveLossConfig
from vtr_core.run.config import TrainConfig
from vtr_core.similarity import SimilarityKind


@dataclass(frozen=True)
class Protocol:
    """The similarity that the loss compared, the one that checkpoints were chosen by, and the one that judges.

    Duarte et al. train with dot products and judge by the Euclidean distance, which order items alike only where their
    vectors are equally long.
    """

    trained_with: str
    """A similarity, or the kind of a loss that has one of its own."""
    chosen_by: SimilarityKind
    judged_by: SimilarityKind

    @classmethod
    def of(cls, config: TrainConfig, judged_by: SimilarityKind) -> "Protocol":
        """The protocol of a run whose embeddings are compared by `judged_by` now."""
        loss = config.loss
        trained_with = loss.similarity if isinstance(loss, ContrastiveLossConfig) else loss.kind
        return cls(trained_with, config.evaluation.similarity, judged_by)

    def flat(self) -> dict[str, str]:
        """By name, for a run's parameters and JSON: `similarity_trained_with`, …."""
        return {f"similarity_{name}": value for name, value in asdict(self).items()}

    @classmethod
    def from_flat(cls, values: Mapping[str, Any]) -> "Protocol":
        """The inverse of `flat`, among other values."""
        return cls(**{field.name: values[f"similarity_{field.name}"] for field in fields(cls)})

    def __str__(self) -> str:
        return f"trained with {self.trained_with}, checkpoint chosen by {self.chosen_by}, judged by {self.judged_by}"
