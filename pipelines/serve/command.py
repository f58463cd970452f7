"""`vtr serve --index URI`: search in the browser and over HTTP; what it needs is imported only when it runs."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import tyro

from pipelines.arguments import check_counts, parse, print_help, wants_help
from vtr_core.errors import ConfigError


@dataclass(frozen=True)
class ServeFlags:
    """Flags of `vtr serve`."""

    index: str = tyro.MISSING
    """Index made by vtr index."""
    checkpoint: str | None = None
    """Checkpoint of the model, if it is no longer where the index says."""
    host: str = "127.0.0.1"
    """Address to listen on; anything but the loopback address admits other machines and needs --token."""
    port: int = 8000
    """Port to listen on; 0 takes a free one."""
    token: str | None = None
    """Secret that every request must carry, of at least 16 letters and digits (default: the variable VTR_SERVE_TOKEN,
    else none)."""
    rate: float | None = None
    """Queries per second that one client address may ask, on average over 5 s; each page of 100 hits is one (default:
    20; no limit on the loopback address)."""
    transform: str | None = None
    """transform.json of vtr analyze causality, where the page's sliders of a dual encoder's concepts begin."""
    ray: bool = False
    """Search on Ray Serve: in this machine's new cluster, or in that of RAY_ADDRESS."""
    replicas: int = 1
    """With --ray: processes that search each shard."""
    shards: int = 1
    """With --ray: parts of the index, each in processes of its own; models with one joint space."""


_TOKEN = "VTR_SERVE_TOKEN"
_TOKEN_LETTERS = 16


def main(argv: Sequence[str]) -> None:
    """Parse the flags and serve, or print the help."""
    if not argv or wants_help(argv):
        print_help("vtr serve", ServeFlags)
        return
    flags = _with_token(parse(ServeFlags, argv, "vtr serve"))
    _check(flags)
    from pipelines.serve.serve import serve

    serve(flags)


def _with_token(flags: ServeFlags) -> ServeFlags:
    """The flags with the token of the environment where none is given; ConfigError for one that nobody could need.

    A variable that is set and empty, as a missing secret leaves it, is no reason to serve without a token.
    """
    if flags.token is not None:
        _check_token("--token", flags.token)
        return flags
    token = os.environ.get(_TOKEN)
    if token is not None:
        _check_token(_TOKEN, token)
    return replace(flags, token=token)


def _check_token(origin: str, token: str) -> None:
    if not (token.isascii() and token.isalnum() and len(token) >= _TOKEN_LETTERS):
        raise ConfigError(
            f"vtr serve: {origin} has {len(token)} characters; it is of letters and digits, at least {_TOKEN_LETTERS}, "
            'such as python -c "import secrets; print(secrets.token_hex(16))" prints'
        )


def _check(flags: ServeFlags) -> None:
    check_counts("vtr serve", replicas=flags.replicas, shards=flags.shards)
    if flags.rate is not None and not 0 < flags.rate < math.inf:
        raise ConfigError(f"vtr serve: --rate is {flags.rate:g}; give queries per second, more than 0")
    if not flags.ray and (flags.replicas, flags.shards) != (1, 1):
        raise ConfigError("vtr serve: --replicas and --shards belong to Ray Serve; give --ray, too")
