"""`vtr serve --index URI`: search in the browser and over HTTP; what it needs is imported only when it runs."""

from collections.abc import Sequence

from pipelines.arguments import check_counts, parse, print_help, wants_help
from pipelines.serve.flags import ServeFlags
from vtr_core.errors import ConfigError


def main(argv: Sequence[str]) -> None:
    """Parse the flags and serve, or print the help."""
    if not argv or wants_help(argv):
        print_help("vtr serve", ServeFlags)
        return
    flags = parse(ServeFlags, argv, "vtr serve")
    _check(flags)
    from pipelines.serve.serve import serve

    serve(flags)


def _check(flags: ServeFlags) -> None:
    check_counts("vtr serve", replicas=flags.replicas, shards=flags.shards)
    if flags.rate < 0:
        raise ConfigError(f"vtr serve: --rate is {flags.rate:g}; it must be 0 or more")
    if flags.token is not None and not (flags.token.isascii() and flags.token.isalnum()):
        raise ConfigError("vtr serve: --token is of letters and digits, at least one")
    if not flags.ray and (flags.replicas, flags.shards) != (1, 1):
        raise ConfigError("vtr serve: --replicas and --shards belong to Ray Serve; give --ray, too")
