"""Video learners: the identity at the start, attention against slow code, and what masked tokens do."""

import pytest
import torch

from vtr_core.config.towers import FlashLearner, MambaLearner, MambaOutLearner, NoLearner, TransformerLearner
from vtr_core.nn.mamba.learners import (
    SelfAttention,
    build_learner,
    scan_event,
)

DIM = 8
LEARNERS = {
    "none_scan": MambaLearner(layers=2, state=4, scan="none"),
    "v1": MambaLearner(layers=2, state=4, scan="v1"),
    "v2": MambaLearner(layers=2, state=4),
    "transformer": TransformerLearner(layers=2, num_heads=2),
    "flash": FlashLearner(layers=2, num_heads=2),
    "mamba_out": MambaOutLearner(layers=2),
}
ALL = {**LEARNERS, "none": NoLearner()}
MASK = torch.tensor([[True] * 9, [True, True, False, True, False, False, True, True, False], [False] * 9])


def _tokens():
    return torch.randn(3, 9, DIM, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def _learner(name, moved=True):
    torch.manual_seed(0)
    learner = build_learner(DIM, ALL[name]).double()
    if moved:
        with torch.no_grad():
            for parameter in learner.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))
    return learner


@pytest.mark.parametrize("name", list(ALL))
def test_fresh_learners_are_the_identity_to_the_bit(name):
    learner, tokens = _learner(name, moved=False).float(), _tokens().float()
    tokens[2] = torch.nan  # masked throughout
    assert torch.equal(learner(tokens[:2]), tokens[:2])
    assert torch.equal(learner(tokens, MASK).nan_to_num(7), tokens.nan_to_num(7))
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(learner(tokens[:2], MASK[:2]), tokens[:2])


@pytest.mark.parametrize("name", list(LEARNERS))
def test_without_residual_connections_layers_replace_their_tokens(name):
    torch.manual_seed(0)
    learner = build_learner(DIM, ALL[name], 0.1, residual=False).double()
    tokens = expected = _tokens()
    for layer in learner.layers:
        assert layer.scale is None
        expected = layer.gate(layer.mixer(layer.norm(expected), None))
    assert torch.equal(learner(tokens), expected)


@pytest.mark.parametrize("name", list(LEARNERS))
def test_masked_tokens_may_hold_anything(name):
    """Their values reach neither the other tokens nor any gradient."""
    learner, gradients = _learner(name), []
    for held in (0.0, torch.nan):
        tokens = _tokens().masked_fill(~MASK.unsqueeze(2), held).requires_grad_()
        learner.zero_grad()
        learner(tokens, MASK)[MASK].square().sum().backward()
        gradients.append([tokens.grad, *(parameter.grad.clone() for parameter in learner.parameters())])
    assert all(torch.equal(one, other) for one, other in zip(*gradients, strict=True))
    assert (gradients[0][0][~MASK] == 0).all()


def test_both_attentions_equal_slow_code():
    torch.manual_seed(0)
    attention = SelfAttention(DIM, TransformerLearner(num_heads=2)).double()
    fused = SelfAttention(DIM, FlashLearner(num_heads=2)).double()
    fused.load_state_dict(attention.state_dict())
    tokens, mask = _tokens(), MASK
    expected = torch.zeros_like(tokens)
    for row in range(2):
        query, key, value = attention.query_key_value(tokens[row]).chunk(3, dim=1)
        for head in (slice(0, 4), slice(4, 8)):
            for position in range(9):
                scores = torch.stack([query[position, head] @ key[other, head] / 2 for other in range(9)])
                weights = torch.where(mask[row], torch.exp(scores), 0)
                expected[row, position, head] = (weights / weights.sum()) @ value[:, head]
    expected = attention.out(expected)
    for module in (attention, fused):
        found = module(tokens, mask)
        torch.testing.assert_close(found[:2], expected[:2], atol=1e-12, rtol=0)
        assert torch.isfinite(found).all()


@pytest.mark.parametrize("name", list(ALL))
def test_learners_that_scan_say_by_what(name):
    cpu = torch.device("cpu")
    reason = "mamba-ssm's kernel runs on CUDA devices, this is cpu"
    scans = {"scan": {"backend": "reference", "reason": reason}}
    assert scan_event(ALL[name], cpu, torch.float32) == (scans if isinstance(ALL[name], MambaLearner) else {})
