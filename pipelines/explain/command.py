"""`vtr explain CHECKPOINT`: explanations of retrieved videos, or a system's own of its models; flags of both."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from pipelines.arguments import print_help, wants_help
from pipelines.systems.registry import SYSTEMS
from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from vtr_core.analysis.transforms import Transform
    from vtr_core.data.manifest import Manifest
    from vtr_core.data.sources.video_files import Inventory
    from vtr_core.embedding.video_ranking import DualVideos, Scoring
    from vtr_core.retrieval.explain.explained_queries import Described
    from vtr_core.systems.spaces import DualSpaces
    from vtr_core.train.checkpoint.trained_model import LoadedModel


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
    videos: str | None = None
    """Video files by video id, a folder, glob, list or table, for key frames of clips without a picture."""
    experiment: str = "vtr"
    """MLflow experiment."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""
    index: str | None = None
    """Index by an encoder that names concepts, instead of --data."""
    against: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """More checkpoints, whose answers to the same queries are shown beside those of the first."""


@dataclass(frozen=True)
class Ready:
    """A loaded model and its embedded videos."""

    loaded: "LoadedModel"
    spaces: "DualSpaces"
    manifest: "Manifest"
    videos: "DualVideos"
    captions: "tuple[tuple[str, ...], tuple[int, ...]]"
    """Captions of the searched videos, and the position of each caption's video."""
    scoring: "Scoring"
    improved: "Transform | None"
    described: "Described"


def given_queries(flags: ExplainQueriesFlags) -> list[tuple[str, str | None]]:
    """The queries of the flags, each with the id of its relevant item where one is given.

    ConfigError for an empty query, InputError for a file that cannot be read.
    """
    from vtr_core import storage
    from vtr_core.errors import InputError
    from vtr_core.retrieval.explain.explanation import parse_queries
    from vtr_core.storage import locate

    if flags.queries is None:
        if not all(text.strip() for text in flags.query):
            raise ConfigError("vtr explain: a query is empty; say what the video shows")
        return [(text.strip(), None) for text in flags.query]
    try:
        content = storage.read_bytes(locate(flags.queries))
    except FileNotFoundError as error:
        raise InputError(f"--queries {flags.queries} does not exist") from error
    except OSError as error:
        raise InputError(f"--queries {flags.queries} cannot be read ({error})") from error
    return parse_queries(content, flags.queries)


def video_files(place: str | None, manifest: "Manifest") -> "Inventory | None":
    """The files that `place` gives, None for none.

    InputError where it gives no video, ConfigError for a data set of whole videos, which have no times to cut at.
    """
    from vtr_core.data.records.schema import VideoSchema
    from vtr_core.data.sources.video_files import Inventory

    if place is None:
        return None
    if isinstance(manifest.schema, VideoSchema):
        raise ConfigError(
            f"vtr explain --videos cuts key frames of clips, and {manifest.uri} has whole videos; give --keyframes, a "
            "folder of pictures"
        )
    found = Inventory(place)
    assert found.files  # an empty one has raised InputError
    return found


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
        flags = "".join(f"--{one.name}: {one.summary}, and " for one in EXPLANATIONS)
        raise ConfigError(
            f"vtr explain needs to know what to explain; there is {flags}--query TEXT or --queries FILE: why "
            "videos were found (vtr serve answers queries in the browser)"
        )
    from pipelines.explain import queries as explain_queries

    explain_queries.main(argv)


def _help() -> None:

    for one in EXPLANATIONS:
        title = one.summary[0].upper() + one.summary[1:]
        print(f"{title}: vtr explain CHECKPOINT --{one.name} --data URI… --out DIR\n")
        one.run(["--help"])
        print()
    print("Why videos were found: vtr explain CHECKPOINT --data URI --query TEXT… --out DIR;")
    print("of an index by an encoder that names concepts: vtr explain --index URI --query TEXT… --out DIR\n")
    print_help("vtr explain", ExplainQueriesFlags)
