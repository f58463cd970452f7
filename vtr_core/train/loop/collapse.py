"""Collapse of a run: embeddings or similarities that no longer differ, or a loss at chance level."""

from collections.abc import Mapping
from dataclasses import dataclass

from vtr_core.analysis.signal import effective_rank, row_share, score_deviation
from vtr_core.systems.task import Compared

ALIKE = 0.01
"""Threshold of collapse: the share of the vectors' energy that differs between rows, or the standard deviation of
similarities on the loss's own scale.
"""
FLAT = 1.5
"""Effective rank below which all differences lie about on one line."""
FEWEST_ROWS = 16
"""The fewest rows for which ranks and deviations are meaningful."""
GUESSING = 0.98
"""A loss above this fraction of the chance level counts as chance."""


@dataclass(frozen=True)
class Collapse:
    """A collapse of embeddings or similarities, and its likely cause."""

    what: str
    cause: str


class CollapseWatch:
    """Checks logged steps; reports once that vectors have collapsed, and once that the loss is at chance level.

    warm_steps: steps before the loss can be expected below chance.
    """

    def __init__(self, warm_steps: int) -> None:
        self._warm_steps = warm_steps
        self._was_apart = self._warned = self._learned = False
        self.collapse: Collapse | None = None
        """The collapse found by the last look, reported once."""
        self.at_chance: float | None = None
        """The chance that the loss of the last look was not below, after the warm-up; None before, or below it."""
        self.loss: float | None = None
        """The loss of the last look."""

    def look(self, step: int, loss: float, compared: Compared) -> dict[str, float]:
        """Metrics to log after `step` steps."""
        self.loss = loss
        judged = {name: vectors for name, vectors in compared.vectors.items() if len(vectors) >= FEWEST_ROWS}
        shares = {name: row_share(vectors) for name, vectors in judged.items()}
        ranks = {name: effective_rank(vectors) for name, vectors in judged.items()}
        deviations = {name: score_deviation(scores()) for name, scores in compared.scores.items()} if judged else {}
        found = None if self._warned else self._judge(shares, ranks, deviations)
        self.collapse, self._warned = found, self._warned or found is not None
        self._was_apart |= found is None
        return {
            **{f"train/row_share_{name}": value for name, value in shares.items()},
            **{f"train/effective_rank_{name}": value for name, value in ranks.items()},
            **{f"train/similarity_deviation_{name}": value for name, value in deviations.items()},
            **self._beside_chance(step, loss, compared),
        }

    def _judge(
        self, shares: Mapping[str, float], ranks: Mapping[str, float], deviations: Mapping[str, float]
    ) -> Collapse | None:
        found = [
            *(f"{v:.2g} of the energy of {name} differs between rows" for name, v in shares.items() if v < ALIKE),
            *(f"all differences of {name} lie on a line" for name, v in ranks.items() if v < FLAT),
            *(f"similarities of {name} deviate by {v:.1g}" for name, v in deviations.items() if v < ALIKE),
        ]
        if not found:
            return None
        learned = "it was better before: lower optimizer.learning_rate, or set optimizer.gradient_clip and warmup_steps"
        initial = "it was so from the start: vtr doctor --model names the layer where differences are lost"
        return Collapse(found[0], learned if self._was_apart else initial)

    def _beside_chance(self, step: int, loss: float, compared: Compared) -> dict[str, float]:
        """The chance level, until the loss was below it once; computing it costs as much as a loss."""
        if self._learned:
            return {}
        chance = compared.chance()
        if chance is None:
            return {}
        self._learned = loss < GUESSING * chance
        self.at_chance = None if self._learned or step <= self._warm_steps else chance
        return {"train/chance": chance}
