"""The selective scan against a slow loop in float64: results, every gradient, and extremes."""

import importlib.machinery

import pytest
import torch
from torch.autograd import grad, gradcheck

from tests.reference import selective_scan as slow
from vtr_core.errors import ConfigError
from vtr_core.nn.mamba import scan as scan_kernel
from vtr_core.nn.mamba.scan import ScanChoice, scan_backend, selective_scan
from vtr_core.nn.mamba.scan_chunks import CHUNK

BATCH, DIM, STATE = 2, 4, 3
LENGTH = 2 * CHUNK + 3
FORMS = {
    "variable": (BATCH, STATE, LENGTH),
    "grouped": (BATCH, 2, STATE, LENGTH),
    "constant": (DIM, STATE),
}


def _arguments(B="variable", C="variable", optional=True, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)

    found = {"u": draw(BATCH, DIM, LENGTH), "delta": draw(BATCH, DIM, LENGTH) * 0.5, "A": -draw(DIM, STATE).exp()}
    found |= {"B": draw(*FORMS[B]), "C": draw(*FORMS[C])}
    if optional:
        found |= {"D": draw(DIM), "z": draw(BATCH, DIM, LENGTH), "delta_bias": draw(DIM)}
    return {name: values.requires_grad_() for name, values in found.items()}


def _with_gradients(scan, arguments, **flags):
    out = scan(**arguments, **flags)
    weights = torch.randn(out.shape, generator=torch.Generator().manual_seed(9), dtype=torch.float64).to(out.dtype)
    return [out.detach(), *grad((out * weights).sum(), list(arguments.values()))]


def _assert_equals_the_loop(arguments, atol, **flags):
    doubles = {name: values.detach().double().requires_grad_() for name, values in arguments.items()}
    expected = _with_gradients(slow.selective_scan, doubles, **flags)
    for found, true in zip(_with_gradients(selective_scan, arguments, **flags), expected, strict=True):
        scale = max(1.0, float(true.abs().max()))
        torch.testing.assert_close(found.double() / scale, true / scale, atol=atol, rtol=0)


@pytest.mark.parametrize("C", list(FORMS))
@pytest.mark.parametrize("B", list(FORMS))
def test_every_form_of_b_and_c_equals_the_loop(B, C):
    _assert_equals_the_loop(_arguments(B, C), 1e-10, delta_softplus=True)


@pytest.mark.parametrize("missing", [(), ("D",), ("z",), ("delta_bias",), ("D", "z"), ("D", "z", "delta_bias")])
@pytest.mark.parametrize("delta_softplus", [False, True])
def test_every_optional_argument_may_be_missing(missing, delta_softplus):
    arguments = {name: values for name, values in _arguments().items() if name not in missing}
    if not delta_softplus:  # steps are positive, as the softplus makes them
        arguments["delta"] = arguments["delta"].detach().abs().requires_grad_()
        if "delta_bias" in arguments:
            arguments["delta_bias"] = arguments["delta_bias"].detach().abs().requires_grad_()
    _assert_equals_the_loop(arguments, 1e-10, delta_softplus=delta_softplus)


@pytest.mark.parametrize(("dtype", "error"), [(torch.bfloat16, 1e-2), (torch.float16, 2e-3)])
def test_halves_are_computed_in_float32(dtype, error):
    """What is left is the rounding of the result to the dtype of u."""
    arguments = _arguments(dtype=dtype)
    out = selective_scan(**arguments, delta_softplus=True)
    assert out.dtype == dtype
    singles = {name: values.detach().float() for name, values in arguments.items()}
    assert torch.equal(out, selective_scan(**singles, delta_softplus=True).to(dtype))
    gradients = grad(out.float().square().sum(), list(arguments.values()))
    assert [found.dtype for found in gradients] == [dtype] * len(arguments)
    _assert_equals_the_loop(arguments, error, delta_softplus=True)


@pytest.mark.parametrize("form", ["variable", "constant"])
def test_gradcheck(form):
    shape = (2, 2, 5) if form == "variable" else (3, 2)
    generator = torch.Generator().manual_seed(2)

    def draw(*size):
        return torch.randn(size, generator=generator, dtype=torch.float64).requires_grad_()

    tensors = (draw(2, 3, 5), draw(2, 3, 5), draw(3, 2), draw(*shape), draw(*shape), draw(3), draw(2, 3, 5), draw(3))
    assert gradcheck(lambda *given: selective_scan(*given, delta_softplus=True), tensors)


@pytest.mark.parametrize("decay", [1e4, 1e30, 3e38])
def test_large_decays_forget_without_nan(decay):
    arguments = _arguments(dtype=torch.float32)
    arguments["A"] = torch.full((DIM, STATE), -decay, requires_grad=True)
    arguments["delta"] = arguments["delta"].detach().add(3).requires_grad_()
    found = _with_gradients(selective_scan, arguments, delta_softplus=True)
    assert all(torch.isfinite(values).all() for values in found)
    alone = selective_scan(**{name: values.detach() for name, values in arguments.items() if name not in "Dz"})
    steps = arguments["delta"] + arguments["delta_bias"].unsqueeze(1)
    expected = (arguments["B"] * arguments["C"]).sum(dim=1, keepdim=True) * steps * arguments["u"]
    torch.testing.assert_close(alone, expected.detach(), atol=1e-5, rtol=1e-5)


def test_twenty_thousand_steps_and_64_states():
    generator = torch.Generator().manual_seed(0)
    u, delta = (torch.randn(1, 2, 20_000, generator=generator).requires_grad_() for _ in range(2))
    A = (-torch.arange(1.0, 65).repeat(2, 1)).requires_grad_()
    B, C = (torch.randn(1, 64, 20_000, generator=generator).requires_grad_() for _ in range(2))
    out = selective_scan(u, delta, A, B, C, delta_softplus=True)
    found = [out, *grad(out.square().mean(), [u, delta, A, B, C])]
    assert all(torch.isfinite(values).all() for values in found)
    assert all(values.abs().max() > 0 for values in found)
    tail = selective_scan(
        *(v.detach()[:, :, -200:] for v in (u, delta)), A, *(v[:, :, -200:] for v in (B, C)), delta_softplus=True
    )
    torch.testing.assert_close(out[:, :, -50:], tail[:, :, -50:], atol=1e-3, rtol=1e-3)  # what is older has decayed


@pytest.mark.parametrize("empty", ["batch", "length"])
def test_nothing_in_nothing_out(empty):
    sizes = {"batch": BATCH, "length": LENGTH} | {empty: 0}
    shape = (sizes["batch"], DIM, sizes["length"])
    u, delta, z = (torch.randn(shape, requires_grad=True) for _ in range(3))
    B, C = (torch.randn(sizes["batch"], STATE, sizes["length"], requires_grad=True) for _ in range(2))
    A, D = torch.randn(DIM, STATE, requires_grad=True), torch.randn(DIM, requires_grad=True)
    out = selective_scan(u, delta, A, B, C, D, z)
    assert out.shape == shape
    out.sum().backward()
    assert (A.grad == 0).all()
    assert (D.grad == 0).all()


@pytest.mark.parametrize(("of_b", "of_c"), [(3, 1), (3, 3), (4, 2)])
def test_groups_that_do_not_fit_are_refused(of_b, of_c):
    arguments = _arguments()
    arguments["B"] = torch.randn(BATCH, of_b, STATE, LENGTH, dtype=torch.float64)
    arguments["C"] = torch.randn(BATCH, of_c, STATE, LENGTH, dtype=torch.float64)
    with pytest.raises(ConfigError, match=f"B has {of_b} groups and C {of_c}, of 4 channels"):
        selective_scan(**arguments)


def test_the_kernel_is_refused_off_a_gpu():
    arguments = _arguments(dtype=torch.float32)
    with pytest.raises(ConfigError, match="on cpu; use scan_backend = auto or reference"):
        selective_scan(**arguments, backend="kernel")


def test_the_automatic_choice(monkeypatch):
    assert scan_backend("cpu", "reference") == ScanChoice("reference", "as configured")
    assert scan_backend("cuda", "kernel") == ScanChoice("kernel", "as configured")
    assert scan_backend("cpu") == ScanChoice("reference", "mamba-ssm's kernel runs on CUDA devices, this is cpu")
    installed = {"mamba_ssm"}
    found = importlib.machinery.ModuleSpec("", None)
    monkeypatch.setattr(scan_kernel, "find_spec", lambda name: found if name in installed else None)
    without = scan_backend("cuda:1")
    assert without.name == "reference"
    assert "no module selective_scan_cuda" in without.reason
    installed.add("selective_scan_cuda")
    assert scan_backend("cuda:1").name == "kernel"
    assert scan_backend("cuda", dtype=torch.float64).name == "reference"
