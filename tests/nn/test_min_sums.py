import pytest
import torch

from vtr_core.nn import min_sums
from vtr_core.nn.min_sums import min_sum_blocks


@pytest.fixture(params=["compiled", "from distances"], autouse=True)
def way(request, monkeypatch):
    """With numba, and as if it was not installed."""
    if request.param == "from distances":
        monkeypatch.setattr(min_sums, "find_spec", lambda name: None)
    return request.param


def _sums(a, b):
    parts = [(rows, part.clone()) for rows, part in min_sum_blocks(a, b)]
    assert [rows.start for rows, _ in parts] == list(range(0, len(a), min_sums.ROW_BLOCK))
    return torch.cat([part for _, part in parts])


@pytest.mark.parametrize("concepts", [1, 31, 32, 33, 100])
@pytest.mark.parametrize(("queries", "items"), [(1, 1), (7, 5), (9, 40), (30, 130)])
def test_equals_loops_whatever_the_blocks(queries, items, concepts, monkeypatch):
    monkeypatch.setattr(min_sums, "ROW_BLOCK", 10)
    monkeypatch.setattr(min_sums, "_LINES", 3)
    generator = torch.Generator().manual_seed(concepts)
    a = torch.rand(queries, concepts, generator=generator, dtype=torch.float64)
    b = torch.rand(items, concepts, generator=generator, dtype=torch.float64)
    expected = [[sum(map(min, x, y)) for y in b.tolist()] for x in a.tolist()]
    torch.testing.assert_close(_sums(a, b), torch.tensor(expected, dtype=torch.float64), rtol=1e-12, atol=0)


@pytest.mark.parametrize(("queries", "items"), [(1, 1), (3, 1), (17, 700), (1030, 9)])
def test_equal_rows_have_equal_sums_bit_for_bit(queries, items):
    generator = torch.Generator().manual_seed(1)
    a, b = torch.rand(1, 512, generator=generator), torch.rand(1, 512, generator=generator)
    sums = _sums(a.repeat(queries, 1), b.repeat(items, 1))
    assert (sums == sums[0, 0]).all()


def test_that_numba_is_missing_is_said_once_of_much_work(way, monkeypatch, caplog):
    monkeypatch.setattr(min_sums, "_MANY", 24)
    min_sums._say_numba_is_missing.cache_clear()
    _sums(torch.ones(2, 3), torch.ones(3, 3))
    assert not caplog.text
    for _ in range(2):
        _sums(torch.ones(2, 3), torch.ones(4, 3))
    assert caplog.text.count("make install EXTRAS=numba") == (way == "from distances")
