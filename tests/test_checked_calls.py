"""Under pytest a call into vtr_core with a wrong type or a wrong shape is an error."""

from collections.abc import Callable

import pytest
import torch
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import TypeCheckError

from tests.checked_calls import CALLS, first_calls, next_test
from vtr_core.data.sources.source import VideoEntry
from vtr_core.losses.contrastive import info_nce
from vtr_core.text.tokens.vocabulary import clean_words


def test_types_of_functions_without_shapes_are_checked() -> None:
    with pytest.raises(BeartypeCallHintViolation):
        clean_words(3)  # type: ignore[arg-type]


def test_types_of_fields_are_checked() -> None:
    with pytest.raises(BeartypeCallHintViolation):
        VideoEntry(3, 0)  # type: ignore[arg-type]


def test_shapes_are_checked() -> None:
    with pytest.raises(TypeCheckError):
        info_nce(torch.zeros(2, 3), 0.1)


def test_the_first_calls_in_each_test_are_checked() -> None:
    compiled = []

    def check(plain: Callable[[], str]) -> Callable[[], str]:
        compiled.append(plain())
        return lambda: "checked"

    calls = first_calls(lambda: "plain", check)
    assert compiled == []
    assert [calls() for _ in range(CALLS + 2)] == ["checked"] * CALLS + ["plain"] * 2
    next_test()
    assert calls() == "checked"
    assert compiled == ["plain"]
