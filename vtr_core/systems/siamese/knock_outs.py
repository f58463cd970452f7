"""A Siamese capsule network without its routing: what agreement is worth."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from torch import nn

from vtr_core.nn.towers.capsules import CapsuleFaces
from vtr_core.systems.knock_out import KnockOuts, Remark
from vtr_core.systems.siamese.model import Siamese


def knock_outs(model: nn.Module) -> KnockOuts:
    """`couplings` of a capsule tower; of the baselines nothing."""
    assert isinstance(model, Siamese)
    return {"couplings": partial(_equal_couplings, model.tower)} if isinstance(model.tower, CapsuleFaces) else {}


@contextmanager
def _equal_couplings(tower: CapsuleFaces) -> Iterator[Remark]:
    """Within, every capsule's vote counts alike: one round of routing, whose couplings are equal."""
    rounds = tower.faces.iterations
    tower.faces.iterations = 1
    try:
        yield lambda: f"one round of equal couplings, not {rounds}"
    finally:
        tower.faces.iterations = rounds
