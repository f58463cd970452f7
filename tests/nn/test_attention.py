import pytest
import torch

from tests.reference import routing as reference
from vtr_core.errors import ConfigError
from vtr_core.nn.transformer import attend, check_heads


@pytest.mark.parametrize("num_heads", [1, 2, 6])
def test_attention_equals_slow_code(num_heads):
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, count, 6, dtype=torch.float64) for count in (3, 5, 5))
    found = attend(query, key, value, num_heads)
    for row in range(2):
        expected = reference.attention(list(query[row]), list(key[row]), list(value[row]), num_heads)
        torch.testing.assert_close(found[row], torch.stack(expected), atol=1e-12, rtol=0)


def test_heads_must_divide_the_width():
    check_heads("model.width", 8, 4)
    with pytest.raises(ConfigError, match=r"^model\.width = 8 is not a multiple of num_heads = 3$"):
        check_heads("model.width", 8, 3)
