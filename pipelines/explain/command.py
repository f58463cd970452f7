"""`vtr explain CHECKPOINT`: explanations of retrieved videos as a page, or a system's own explanation of its models."""

from collections.abc import Sequence

from pipelines.arguments import print_help, wants_help
from vtr_core.errors import ConfigError
from pipelines.systems.registry import SYSTEMS

EXPLANATIONS = tuple(explanation for system in SYSTEMS for explanation in system.explanations)
"""Explanations that systems offer; each has a flag with its name."""
_QUERY_FLAGS = ("--query", "--queries", "--serve")


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        _help()
        return
    for explanation in EXPLANATIONS:
        if f"--{explanation.name}" in argv:
            explanation.run(argv)
            return
    if not any(word.partition("=")[0] in _QUERY_FLAGS for word in argv):
        flags = "".join(f"--{one.name}: {one.summary}, and " for one in EXPLANATIONS)
        raise ConfigError(
            f"vtr explain needs to know what to explain; there is {flags}--query TEXT, --queries FILE or --serve: why "
            "videos were found"
        )
    from pipelines.explain import queries as explain_queries

    explain_queries.main(argv)


def _help() -> None:
    from pipelines.explain.flags import ExplainQueriesFlags

    for one in EXPLANATIONS:
        title = one.summary[0].upper() + one.summary[1:]
        print(f"{title}: vtr explain CHECKPOINT --{one.name} --data URI… --out DIR\n")
        one.run(["--help"])
        print()
    print("Why videos were found: vtr explain CHECKPOINT --data URI --query TEXT… --out DIR, or --serve;")
    print("of an index by an encoder that names concepts: vtr explain --index URI --query TEXT… --out DIR\n")
    print_help("vtr explain", ExplainQueriesFlags)
