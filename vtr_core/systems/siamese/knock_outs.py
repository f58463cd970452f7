"""Test-time ablation of a Siamese capsule network's routing by agreement."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from torch import nn

from vtr_core.nn.towers.capsules import CapsuleFaces
from vtr_core.systems.knock_out import KnockOuts, Remark
from vtr_core.systems.siamese.model import Siamese


def knock_outs(model: nn.Module) -> KnockOuts:
    """The ablation `routing` of a capsule tower; none for the baselines."""
    assert isinstance(model, Siamese)
    return {"routing": partial(_equal_coefficients, model.tower)} if isinstance(model.tower, CapsuleFaces) else {}


@contextmanager
def _equal_coefficients(tower: CapsuleFaces) -> Iterator[Remark]:
    """Context with a single routing iteration, whose routing coefficients are equal."""
    rounds = tower.faces.iterations
    tower.faces.iterations = 1
    try:
        yield lambda: f"equal routing coefficients in one round, not {rounds}"
    finally:
        tower.faces.iterations = rounds
