"""Both directions over padded rows are what torch's GRU says of packed sequences, outputs and gradients."""

import torch
from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from vtr_core.nn.multi_level_encoding import padded_gru

LENGTHS = torch.tensor([3, 7, 1, 5])
STEPS = 9


def packed(gru: torch.nn.GRU, values: Tensor) -> Tensor:
    sequences = pack_padded_sequence(values, LENGTHS, batch_first=True, enforce_sorted=False)
    return pad_packed_sequence(gru(sequences)[0], batch_first=True, total_length=STEPS)[0]


def test_it_equals_packed_sequences() -> None:
    torch.manual_seed(0)
    gru = torch.nn.GRU(6, 4, batch_first=True, bidirectional=True).double()
    given = torch.randn(len(LENGTHS), STEPS, 6, dtype=torch.float64)
    weights = torch.randn(len(LENGTHS), STEPS, 8, dtype=torch.float64)
    known = (torch.arange(STEPS) < LENGTHS.unsqueeze(1)).unsqueeze(2)
    outputs, gradients = [], []
    for run in (lambda values: padded_gru(gru, values, LENGTHS), lambda values: packed(gru, values)):
        values = given.clone().requires_grad_()
        outputs.append(torch.where(known, run(values), 0))
        inner = (outputs[-1] * weights).sum()
        gradients.append(torch.autograd.grad(inner, [values, *gru.parameters()]))
    torch.testing.assert_close(*outputs, rtol=0, atol=1e-14)
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    assert (gradients[0][0][~known.squeeze(2)] == 0).all()
