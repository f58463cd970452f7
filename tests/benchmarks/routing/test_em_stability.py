import torch

from benchmarks.routing.em_stability import train_em
from tests.builders.toy import toy_dataset
from vtr_core.nn.capsules.em_routing import Em


def test_every_step_is_trained_and_looked_at(tmp_path):
    found = train_em(toy_dataset(tmp_path)[0].uri, steps=5, capsules=4, rows=8)
    assert (found.steps, found.rows, found.nonfinite) == (5, 8, ())
    assert 0 < found.largest_gradient_norm < float("inf")


def test_what_is_not_finite_is_named(tmp_path, monkeypatch):
    initialise = Em.__init__

    def spoiled(self, *args):
        initialise(self, *args)
        self.weight.data[0, 0, 0, 0] = torch.nan

    monkeypatch.setattr(Em, "__init__", spoiled)
    faults = train_em(toy_dataset(tmp_path)[0].uri, steps=2, capsules=4, rows=8).nonfinite
    assert "step 0: loss" in faults
    assert "step 1: routing.shared.weight" in faults
