"""The Mamba mixer against step-by-step code, its names, and what padding does."""

import pytest
import torch

from tests.reference.mamba import mamba
from vtr_core.config.towers import MambaLearner
from vtr_core.nn.mamba.mixer import MambaMixer

DIM, STATE = 6, 3
SCANS = ("none", "v1", "v2")
FORWARD = {"in_proj.weight", "conv1d.weight", "conv1d.bias", "x_proj.weight", "dt_proj.weight", "dt_proj.bias"}
FORWARD |= {"A_log", "D", "out_proj.weight"}
BACKWARD = {"conv1d_b.weight", "conv1d_b.bias", "x_proj_b.weight", "dt_proj_b.weight", "dt_proj_b.bias", "D_b"}
NAMES = {"none": FORWARD, "v1": FORWARD | {"A_b_log"}, "v2": FORWARD | BACKWARD | {"A_b_log"}}


def _mixer(scan="v2", **settings):
    torch.manual_seed(0)
    mixer = MambaMixer(DIM, MambaLearner(scan=scan, state=STATE, **settings)).double()
    with torch.no_grad():
        for parameter in mixer.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return mixer


def _tokens(length=7):
    return torch.randn(2, length, DIM, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


@pytest.mark.parametrize("scan", SCANS)
@pytest.mark.parametrize(("expansion", "conv"), [(1, 4), (2, 3)])
def test_equals_steps_one_by_one(scan, expansion, conv):
    mixer = _mixer(scan, expansion=expansion, conv=conv)
    expected = mamba(_tokens(), mixer.state_dict(), scan, STATE)
    torch.testing.assert_close(mixer(_tokens()), expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize("scan", SCANS)
def test_a_state_dict_of_vision_mamba_loads(scan):
    """Its names and, for 192 channels, expansion 2 and 16 states, its shapes."""
    mixer = MambaMixer(192, MambaLearner(scan=scan, expansion=2))
    shapes = {name: tuple(values.shape) for name, values in mixer.state_dict().items()}
    assert set(shapes) == NAMES[scan]
    published = {
        "in_proj.weight": (768, 192),
        "conv1d.weight": (384, 1, 4),
        "conv1d.bias": (384,),
        "x_proj.weight": (44, 384),
        "dt_proj.weight": (384, 12),
        "dt_proj.bias": (384,),
        "A_log": (384, 16),
        "D": (384,),
        "out_proj.weight": (192, 384),
    }
    assert {name: shapes[name] for name in published} == published
    mixer.load_state_dict({name: torch.zeros(shape) for name, shape in shapes.items()}, strict=True)


@pytest.mark.parametrize("scan", SCANS)
def test_padding_changes_no_token(scan):
    """Not even through the bias of the convolution, which the backward direction would read first."""
    mixer, tokens = _mixer(scan), _tokens()
    padded = torch.cat([tokens, torch.full((2, 5, DIM), 3.0, dtype=torch.float64)], dim=1)
    mask = torch.arange(12) < torch.tensor([[7], [7]])
    torch.testing.assert_close(mixer(padded, mask)[:, :7], mixer(tokens), atol=1e-12, rtol=0)
    if scan != "none":
        assert not torch.allclose(mixer(padded)[:, :7], mixer(tokens), atol=1e-3)


@pytest.mark.parametrize("scan", SCANS)
def test_recomputing_changes_nothing_but_what_is_kept(scan):
    mask, gradients, kept = torch.arange(7) < torch.tensor([[4], [7]]), [], []
    for recompute in (False, True):
        mixer, tokens, held = _mixer(scan, recompute=recompute), _tokens().requires_grad_(), []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda saved, held=held: held.append(saved) or saved, lambda x: x
        ):
            out = mixer(tokens, mask)
        out[mask].square().sum().backward()
        gradients.append([out.detach(), tokens.grad, *(parameter.grad for parameter in mixer.parameters())])
        kept.append(len(held))
    assert all(torch.equal(one, other) for one, other in zip(*gradients, strict=True))
    assert kept[1] < kept[0] / 2


@pytest.mark.parametrize("scan", SCANS)
def test_gradients_equal_those_of_steps_one_by_one(scan):
    mixer, tokens, other = _mixer(scan), _tokens().requires_grad_(), _tokens().requires_grad_()
    weights = {name: values.clone().requires_grad_() for name, values in mixer.state_dict().items()}
    mixer(tokens).square().sum().backward()
    mamba(other, weights, scan, STATE).square().sum().backward()
    torch.testing.assert_close(tokens.grad, other.grad, atol=1e-9, rtol=0)
    for name, parameter in mixer.named_parameters():
        torch.testing.assert_close(parameter.grad, weights[name].grad, atol=1e-9, rtol=0)


def test_fresh_steps_and_decays():
    """Δ is log-uniform between 0.001 and 0.1, A = −1, …, −state."""
    mixer = MambaMixer(4096, MambaLearner(state=2))
    for bias in (mixer.dt_proj.bias, mixer.dt_proj_b.bias):
        steps = torch.nn.functional.softplus(bias.detach())
        assert 0.00099 < steps.min() < 0.0011
        assert 0.09 < steps.max() < 0.101
        assert abs(steps.log10().mean() + 2) < 0.05
    torch.testing.assert_close(-mixer.A_b_log.exp(), torch.tensor([[-1.0, -2.0]]).expand(4096, 2))
