import pytest
import torch

from vtr_core.nn.precision import at_least_float32, full_precision


@full_precision
def _product(a, b, scale=None):
    return a @ b if scale is None else a @ b * scale


@pytest.mark.parametrize(
    ("given", "computed"),
    [
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
    ],
)
def test_computes_in_float32_or_more_under_autocast(given, computed):
    a = torch.randn(3, 3, generator=torch.Generator().manual_seed(0)).to(given)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        product = _product(a, a, scale=a[0, 0])
    assert product.dtype == at_least_float32(a).dtype == computed
    torch.testing.assert_close(product, a.to(computed) @ a.to(computed) * a[0, 0].to(computed), atol=0, rtol=0)


def test_autocast_is_on_again_afterwards():
    a = torch.ones(2, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        _product(a, a)
        assert (a @ a).dtype == torch.bfloat16
