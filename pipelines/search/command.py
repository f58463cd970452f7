"""`vtr search "a query" --index URI`: flags; the search itself is imported only when it runs."""

from collections.abc import Sequence

from pipelines.arguments import parse, print_help, wants_help
from pipelines.search.flags import SearchFlags


def main(argv: Sequence[str]) -> None:
    """Parse the flags and search, or print the help."""
    if not argv or wants_help(argv):
        print_help("vtr search", SearchFlags)
        return
    flags = parse(SearchFlags, argv, "vtr search")
    from pipelines.search.search import search

    search(flags)
