"""What is checked of calls into vtr_core under pytest: types of all arguments and results, and shapes where they stand.

jaxtyping's own decorator binds the arguments of every call twice, which is most of the time of a function that is
called for each word or clip. It is kept for signatures with shapes, and for the first `CALLS` calls of a function in a
test, since those after them are much the same; other signatures are checked by beartype alone. Functions within
functions are not checked: a check is compiled, which takes milliseconds, each time one of them is made.
"""

import dataclasses
import functools
import types
from collections.abc import Callable
from typing import Any, get_args, get_type_hints

import jaxtyping
from beartype import BeartypeConf
from beartype import beartype as configured

_jaxtyped = jaxtyping.jaxtyped
beartype = configured(conf=BeartypeConf(is_pep484_tower=True))  # an int is a float, as for mypy

CALLS = 50
"""Of a function with shapes that are checked in each test."""
_test = 0
"""The number of the test that runs."""


def next_test() -> None:
    """Functions with shapes are checked again from now on."""
    global _test
    _test += 1


def check_calls(package: str) -> None:
    """From now on modules of the package are checked as they are imported."""
    jaxtyping.jaxtyped = _decorator  # what the hook decorates with
    jaxtyping.install_import_hook(package, "beartype.beartype")


def _decorator(**_: Any) -> Callable[[Any], Any]:
    def checked(value: Any) -> Any:
        if "<locals>" in getattr(value, "__qualname__", ""):
            return value
        if isinstance(value, types.FunctionType) and not _has_shapes(value):
            return beartype(value)
        if dataclasses.is_dataclass(value) and "__init__" in vars(value) and not _has_shapes(value.__init__):
            value.__init__ = beartype(value.__init__)
            return value
        with_shapes = _jaxtyped(typechecker=beartype)(value)
        return first_calls(with_shapes, value) if isinstance(value, types.FunctionType) else with_shapes

    return checked


def first_calls(checked: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """`checked` for the first `CALLS` calls in each test, and `plain` for those after them."""
    test, calls = _test, 0

    @functools.wraps(checked)
    def function(*args: Any, **kwargs: Any) -> Any:
        nonlocal test, calls
        if test != _test:
            test, calls = _test, 0
        calls += 1
        return (checked if calls <= CALLS else plain)(*args, **kwargs)

    return function


def _has_shapes(function: Any) -> bool:
    """Whether a signature holds shapes, or names what cannot be looked up yet."""
    try:
        hints = get_type_hints(function)
    except NameError:
        return True
    return any(map(_is_shaped, hints.values()))


def _is_shaped(hint: Any) -> bool:
    if isinstance(hint, list):
        return any(map(_is_shaped, hint))
    if isinstance(hint, type) and issubclass(hint, jaxtyping.AbstractArray):
        return True
    return any(map(_is_shaped, get_args(hint)))
