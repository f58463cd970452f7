"""mamba-ssm's kernel against the reference scan, on a GPU where it is installed."""

import pytest
import torch
from torch.autograd import grad

from vtr_core.config.towers import MambaLearner
from vtr_core.nn.mamba.mixer import MambaMixer
from vtr_core.nn.mamba.scan import scan_backend, selective_scan

BATCH, DIM, STATE, LENGTH = 2, 8, 16, 301
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device: run make test-gpu on one"),
    pytest.mark.skipif(
        scan_backend("cuda").name != "kernel",
        reason="needs mamba-ssm's kernel: make mamba-wheels install-mamba test-gpu, on a machine with nvcc",
    ),
]


def _arguments(dtype):
    generator = torch.Generator().manual_seed(0)

    def draw(*shape, to=dtype):
        return torch.randn(shape, generator=generator).cuda().to(to).requires_grad_()

    A = (-torch.rand(DIM, STATE, generator=generator) - 0.1).cuda().requires_grad_()
    B, C = (draw(BATCH, STATE, LENGTH) for _ in range(2))
    steps = [draw(BATCH, DIM, LENGTH) for _ in range(3)]
    return [*steps[:2], A, B, C, draw(DIM, to=torch.float32), steps[2], draw(DIM, to=torch.float32)]


def _with_gradients(arguments, backend):
    out = selective_scan(*arguments, delta_softplus=True, backend=backend)
    weights = torch.randn(out.shape, generator=torch.Generator().manual_seed(1)).cuda()
    return [out.detach(), *grad((out.float() * weights).sum(), arguments)]


@pytest.mark.parametrize(("dtype", "error"), [(torch.float32, 1e-5), (torch.bfloat16, 2e-2)])
def test_kernel_and_reference_are_the_same(dtype, error):
    arguments = _arguments(dtype)
    pairs = zip(_with_gradients(arguments, "kernel"), _with_gradients(arguments, "reference"), strict=True)
    for found, expected in pairs:
        scale = max(1.0, float(expected.abs().max()))
        torch.testing.assert_close(found.float() / scale, expected.float() / scale, atol=error, rtol=0)


@pytest.mark.parametrize("scan", ["none", "v1", "v2"])
def test_mixers_are_the_same(scan):
    torch.manual_seed(0)
    mixers = [
        MambaMixer(32, MambaLearner(scan=scan, scan_backend=backend)).cuda() for backend in ("kernel", "reference")
    ]
    mixers[1].load_state_dict(mixers[0].state_dict())
    tokens, mask = torch.randn(2, 50, 32).cuda(), torch.arange(50).cuda() < torch.tensor([[50], [20]]).cuda()
    found, expected = (mixer(tokens, mask)[mask] for mixer in mixers)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
