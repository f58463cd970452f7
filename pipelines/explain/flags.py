"""Which queries are to be explained, and what that needs."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

if TYPE_CHECKING:
    from vtr_core.analysis.transforms import Transform
    from vtr_core.data.manifest import Manifest
    from vtr_core.retrieval.explain.report import Described
    from vtr_core.retrieval.search.dual_spaces import DualSpaces
    from vtr_core.retrieval.search.search import DualVideos, Scoring
    from vtr_core.train.checkpoint.load import LoadedModel


@dataclass(frozen=True)
class ExplainQueriesFlags:
    """Which queries to explain, on what, and where the page goes."""

    checkpoint: Annotated[str, tyro.conf.Positional]
    """A checkpoint of a dual encoder with concepts: a folder, a run folder, or models:/NAME@ALIAS."""
    data: str
    """A data set of whole videos."""
    query: tuple[str, ...] = ()
    """One or more queries, in quotes."""
    queries: str | None = None
    """A file with a query in each line, and behind a tab the id of the right video, where it is known."""
    out: str | None = None
    """Folder for explanations.html and explanations.json; earlier ones there are replaced."""
    transform: str | None = None
    """transform.json of vtr analyze causality: the improved system beside the original one."""
    k: int = 5
    """Videos shown for each query."""
    tags: int = 10
    """Tags in each cloud, at most 30."""
    space: Literal["hybrid", "concept"] | None = None
    """What ranks: both spaces or concepts alone (default: all that the model has)."""
    latent_weight: float | None = None
    """Share of latent space in the hybrid score (default: as the model is evaluated)."""
    keyframes: str | None = None
    """Folder of pictures, <video id>.jpg or .png."""
    serve: bool = False
    """Answer typed queries in the browser instead, with sliders for the transform."""
    host: str = "127.0.0.1"
    """Address to serve on; any but this machine's own lets others ask, too."""
    port: int = 8765
    """Port to serve on; 0 takes a free one."""
    experiment: str = "vtr"
    """MLflow experiment."""
    against: Annotated[str | None, tyro.conf.Positional] = None
    """A second checkpoint, whose answers to the same queries stand beside those of the first."""


@dataclass(frozen=True)
class Ready:
    """A model and its videos, ready for queries."""

    loaded: "LoadedModel"
    spaces: "DualSpaces"
    manifest: "Manifest"
    videos: "DualVideos"
    captions: "tuple[tuple[str, ...], tuple[int, ...]]"
    """Captions of videos that can be found, with the positions of these."""
    scoring: "Scoring"
    improved: "Transform | None"
    described: "Described"
