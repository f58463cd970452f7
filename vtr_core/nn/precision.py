"""Precision of similarities and losses: float32 or more."""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import torch
from torch import Tensor

P = ParamSpec("P")
R = TypeVar("R")


def full_precision(function: Callable[P, R]) -> Callable[P, R]:
    """`function` with autocast off and its half-precision tensor arguments made float32; float64 stays float64."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        devices = {value.device.type for value in (*args, *kwargs.values()) if isinstance(value, Tensor)}
        with torch.autocast(devices.pop() if devices else "cpu", enabled=False):
            raised = {name: _raise(value) for name, value in kwargs.items()}
            return function(*(_raise(value) for value in args), **raised)  # type: ignore[arg-type]

    return wrapped


def at_least_float32(values: Tensor) -> Tensor:
    """`values` in float32 where they were float16 or bfloat16; float32 and float64 as they are."""
    return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values


def _raise(value: object) -> object:
    return at_least_float32(value) if isinstance(value, Tensor) else value
