"""`vtr explain CHECKPOINT`: explanations of retrieved videos, or a system's own of its models; flags of both."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from pipelines.arguments import parse, print_help, wants_help, written_as_json
from pipelines.systems.registry import SYSTEMS
from vtr_core.errors import ConfigError

PAGE, VALUES = "explanations.html", "explanations.json"
MOST_MODELS = 6
"""Models beside each other on a page."""


@dataclass(frozen=True)
class ExplainQueriesFlags:
    """Flags of `vtr explain` for queries."""

    checkpoint: Annotated[str | None, tyro.conf.Positional] = None
    """Checkpoint of a dual encoder with concepts, or of a model of one joint space, such as a capsule network, whose
    best clips are shown with the capsules that respond to them: a folder, a run folder, or models:/NAME@ALIAS; or
    encoder:NAME, a pretrained encoder that names concepts, such as encoder:bundled (default: that of --index)."""
    data: str | None = None
    """Data set of whole videos, or of the records that the model reads."""
    query: tuple[str, ...] = ()
    """One or more queries, in quotes."""
    queries: str | None = None
    """File with a query per line, optionally followed by a tab and the id of the relevant video or clip."""
    out: str | None = None
    """Output folder of explanations.html and explanations.json; existing files are replaced."""
    transform: str | None = None
    """transform.json of vtr analyze causality; shows the transformed system beside the original."""
    transforms: tuple[str, ...] = ()
    """Of several checkpoints a transform.json of each, under which it answers (none: as trained), in their order."""
    k: int = 5
    """Videos shown per query."""
    tags: int = 10
    """Tags per cloud, or capsules per modality, at most 30."""
    space: Literal["hybrid", "concept"] | None = None
    """Rank by both spaces or by concepts only (default: all spaces of the model)."""
    latent_weight: float | None = None
    """Weight of latent space in the hybrid score (default: as the model is evaluated)."""
    keyframes: str | None = None
    """Folder of pictures, <video or clip id>.jpg or .png (default: the data set's thumbnails, where it has them)."""

    experiment: str = "vtr"
    """MLflow experiment."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""
    index: str | None = None
    """Index by an encoder that names concepts, instead of --data."""
    against: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """More checkpoints, whose answers to the same queries are shown beside those of the first."""


EXPLANATIONS = tuple(explanation for system in SYSTEMS for explanation in system.explanations)
"""Explanations that systems offer; each has a flag with its name."""
_QUERY_FLAGS = ("--query", "--queries")


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
        systems = "".join(f"--{system.name}: {system.summary}, and " for system in EXPLANATIONS)
        raise ConfigError(
            f"vtr explain needs to know what to explain; there is {systems}--query TEXT or --queries FILE: why "
            "videos were found (vtr serve answers queries in the browser)"
        )
    flags = parse(ExplainQueriesFlags, argv, "vtr explain")
    _check(flags)
    from pipelines.explain.queries import explain

    with written_as_json(flags.json, flags.out, PAGE, VALUES):
        explain(flags)


def _check(flags: ExplainQueriesFlags) -> None:
    """ConfigError for flags that do not go together."""
    if (flags.index is None) == (flags.data is None):
        raise ConfigError("vtr explain: give --data URI, with a checkpoint, or --index URI")
    if flags.index is None and flags.checkpoint is None:
        raise ConfigError("vtr explain: give a checkpoint, or encoder:NAME, for --data")
    if flags.index is not None and flags.against:
        raise ConfigError("vtr explain --index is a page of one model; leave out further checkpoints")
    names = (flags.checkpoint, *flags.against)
    if flags.transforms and len(flags.transforms) != len(names):
        raise ConfigError(
            f"vtr explain: {len(flags.transforms)} --transforms for {len(names)} checkpoints; give one each, or none"
        )
    if flags.against and flags.transform is not None:
        raise ConfigError(
            "vtr explain: several models have a transform each: give --transforms, or leave out --transform, or all "
            "checkpoints but one"
        )
    if len(flags.against) >= MOST_MODELS:
        raise ConfigError(f"vtr explain: {1 + len(flags.against)} checkpoints; a page has room for {MOST_MODELS}")
    if flags.out is None:
        raise ConfigError("vtr explain: --out is needed, the folder for the page")
    if bool(flags.query) == (flags.queries is not None):
        raise ConfigError("vtr explain: give --query TEXT… or --queries FILE")


def _help() -> None:
    for system in EXPLANATIONS:
        title = system.summary[0].upper() + system.summary[1:]
        print(f"{title}: vtr explain CHECKPOINT --{system.name} --data URI… --out DIR\n")
        system.run(["--help"])
        print()
    print("Why videos were found: vtr explain CHECKPOINT --data URI --query TEXT… --out DIR;")
    print("of an index by an encoder that names concepts: vtr explain --index URI --query TEXT… --out DIR\n")
    print_help("vtr explain", ExplainQueriesFlags)
