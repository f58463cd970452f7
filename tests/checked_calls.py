"""What is checked of calls into vtr_core under pytest: types of all arguments and results, and shapes where they stand.

Each function's check is compiled, which takes milliseconds, when it is first called: a process of tests calls a small
part of what it imports. jaxtyping's own decorator binds the arguments of every call twice, which is most of the time of
a function that is called for each word or clip. It is kept for signatures with shapes; others are checked by beartype
alone. Checked are the first `CALLS` calls of a function in a test, since those after them are much the same. Functions
within functions are not checked: a check would be compiled each time one of them is made.
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
"""Of a function that are checked in each test."""
_test = 0
"""The number of the test that runs."""


def next_test() -> None:
    """Functions are checked again from now on."""
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
        if isinstance(value, types.FunctionType):
            return first_calls(value, _check)
        if dataclasses.is_dataclass(value) and "__init__" in vars(value) and not _has_shapes(value.__init__):
            value.__init__ = first_calls(value.__init__, beartype)
            return value
        return _jaxtyped(typechecker=beartype)(value)

    return checked


def first_calls(plain: Callable[..., Any], check: Callable[[Any], Any]) -> Callable[..., Any]:
    """`check(plain)` for the first `CALLS` calls in each test, and `plain` for those after them."""
    checked: Callable[..., Any] | None = None
    test, calls = _test, 0

    @functools.wraps(plain)
    def function(*args: Any, **kwargs: Any) -> Any:
        nonlocal checked, test, calls
        if test != _test:
            test, calls = _test, 0
        if calls >= CALLS:
            return plain(*args, **kwargs)
        calls += 1
        if checked is None:
            checked = check(plain)
        return checked(*args, **kwargs)

    return function


def _check(function: types.FunctionType) -> Any:
    return _jaxtyped(typechecker=beartype)(function) if _has_shapes(function) else beartype(function)


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
