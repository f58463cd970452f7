"""Flags of `vtr explain` for queries, and its loaded inputs."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from vtr_core.analysis.transforms import Transform
    from vtr_core.data.manifest import Manifest
    from vtr_core.retrieval.explain.report import Described
    from vtr_core.retrieval.search.dual_spaces import DualSpaces
    from vtr_core.retrieval.search.search import DualVideos, Scoring
    from vtr_core.train.checkpoint.load import LoadedModel


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
    serve: bool = False
    """Serve a page in which queries can be typed and the transform adjusted."""
    host: str = "127.0.0.1"
    """Address to listen on; anything but the loopback address admits other machines."""
    port: int = 8765
    """Port to listen on; 0 takes a free one."""
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
    from vtr_core.retrieval.explain.queries import parse_queries
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
