"""A Siamese capsule network without its routing: what agreement is worth."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from torch import nn

from vtr_core.nn.towers.capsules import CapsuleFaces
from vtr_core.systems.knock_out import KnockOuts, Remark
from vtr_core.systems.siamese.model import Siamese


def knock_outs(model: nn.Module) -> KnockOuts:
    """`routing` of a capsule tower; of the baselines nothing."""
    assert isinstance(model, Siamese)
    return {"routing": partial(_equal_coefficients, model.tower)} if isinstance(model.tower, CapsuleFaces) else {}


@contextmanager
def _equal_coefficients(tower: CapsuleFaces) -> Iterator[Remark]:
    """Within, every capsule's vote counts alike: one round of routing, whose coefficients are equal."""
    rounds = tower.faces.iterations
    tower.faces.iterations = 1
    try:
        yield lambda: f"equal routing coefficients in one round, not {rounds}"
    finally:
        tower.faces.iterations = rounds
