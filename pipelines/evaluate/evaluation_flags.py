"""Flags of vtr evaluate."""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from pipelines.progress import Meter
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup

if TYPE_CHECKING:
    from vtr_core.embedding.rankings import QuerySample


SimilarityName = Literal["dot", "cosine", "neg_euclidean", "all"]
Normalization = Literal["dual_softmax", "query_bank"]
Background = Literal["zero", "mean", "zero_text"]
Rescale = Literal["matrix", "query", "train"]


@dataclass(frozen=True)
class EvaluateFlags:
    """Flags of `vtr evaluate --task retrieval`."""

    checkpoint: Annotated[str | None, tyro.conf.Positional] = None
    """Checkpoint folder, run folder (its best checkpoint is used), or registered model, models:/NAME@ALIAS."""
    data: tuple[str, ...] = tyro.MISSING
    """One or more data sets."""
    similarity: tuple[SimilarityName, ...] = ()
    """Similarities of embeddings, one table each; all: dot, cosine, neg_euclidean (default: as in training)."""
    aggregate: Literal["none", "captions"] = "none"
    """captions: also video to text with a video's captions as one item, by its best, as CLIP4Clip evaluates MSVD."""
    rescale: Rescale | None = None
    """Dual encoders: range by which the scores of each space are rescaled before they are added: query, train (training
    batches), or matrix (all scores, published) (default: as the run's evaluation.normalise, query)."""
    latent_weight: float | None = None
    """Dual encoders: α in α · latent + (1 − α) · concept (default: as in training)."""
    queries: Literal["all", "ambiguous"] = "all"
    """Dual encoders: ambiguous also reports metrics of the captions that the concept table calls ambiguous, with a
    lemma of two parts of speech (vtr concepts --ambiguous), against their videos alone."""
    concepts: str | None = None
    """Concept table with the ambiguous captions of all data sets (default: the folder concepts beside the first)."""
    normalize: tuple[Normalization, ...] = ()
    """Also report metrics with test-time normalisation: dual_softmax over all test queries, query_bank over the
    captions of another data set."""
    dual_softmax_temperature: float = 0.01
    """Temperature of the softmax over all test queries."""
    query_bank: str | None = None
    """Data set of the bank's captions, for instance the training data."""
    bank_size: int = 5000
    """Captions sampled for the bank."""
    bank_seed: int = 0
    """Random seed of that sample."""
    query_bank_temperature: float = 0.05
    """Temperature of the softmax over the bank."""
    relevant: Literal["own", "same-caption"] = "own"
    """Items that are right for a query. own: those of its own clip; same-caption: all with its caption, also of other
    clips (the rank is that of the best one, average precision is over all)."""
    missing_audio: Literal["video", "miss"] = "video"
    """Clips without audio among others with it. video: video+audio is video alone; miss: also metrics where they count
    as failures, as AVLnet's."""
    experiment: str = "vtr"
    """MLflow experiment."""
    out: str | None = None
    """Also write the metrics to this JSON file."""
    json: bool = False
    """Print the metrics as JSON, and everything else on standard error."""
    embeddings: tuple[str, ...] = ()
    """Embeddings of some of the data sets by vtr embed, which are read instead of computed."""
    sample_queries: int | None = None
    """Evaluate at most this many queries of each direction, drawn at random, against all items, with 95 % intervals."""
    sample_seed: int = 0
    """Random seed of that sample."""
    encoder: str | None = None
    """Instead of a checkpoint a pretrained encoder, without any training, see vtr encoders; as encoder:NAME."""

    @property
    def query_sample(self) -> "QuerySample | None":
        """The sample of queries, where one is asked for."""
        from vtr_core.embedding.rankings import QuerySample

        return None if self.sample_queries is None else QuerySample(self.sample_queries, self.sample_seed)

    @property
    def sampled(self) -> dict[str, object]:
        """The settings of the sample, for the tracked run."""
        if self.sample_queries is None:
            return {}
        return {"sample_queries": self.sample_queries, "sample_seed": self.sample_seed}


@dataclass(frozen=True)
class LocalizationFlags:
    """Flags of `vtr evaluate --task localization`."""

    checkpoint: Annotated[str, tyro.conf.Positional]
    """Checkpoint folder, run folder (its best checkpoint is used), or registered model, models:/NAME@ALIAS."""
    data: tuple[str, ...]
    """One or more data sets of videos with ordered steps."""
    similarity: Literal["dot", "cosine", "neg_euclidean"] | None = None
    """Similarity of a step's text and a second of video (default: as in training)."""
    window: int = 1
    """Seconds pooled around each second before embedding."""
    audio: bool = False
    """Embed video and audio of a second together."""
    background: Background | None = None
    """Background score that steps compete with: zero, the mean of a video's scores, or zero_text, the score of a zero
    text vector in that second, and for each step an average second (default: zero_text under neg_euclidean, else
    zero)."""
    draws: int = 10
    """Random rankings averaged for the chance level."""
    seed: int = 0
    """Random seed of the chance level."""
    experiment: str = "vtr"
    """MLflow experiment."""
    out: str | None = None
    """Also write the metrics to this JSON file."""
    json: bool = False
    """Print the metrics as JSON, and everything else on standard error."""


def device() -> str:
    """The first GPU if there is one, else the CPU."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def short_names(manifests: "Sequence[Manifest]") -> list[str]:
    """A short name for each data set: its folder's, preceded by as many parents' as tell them apart.

    The settings of a store, after `?`, are left out, and what MLflow takes in no name becomes `_`. Data sets that are
    given twice are numbered.
    """
    parts = [re.sub(r"[^\w.\- /]", "_", manifest.uri.partition("?")[0]).strip("/").split("/") for manifest in manifests]
    for depth in range(1, max(map(len, parts), default=0) + 1):
        short = ["-".join(part[-depth:]) for part in parts]
        if len(set(short)) == len(short):
            return short
    return [f"{'-'.join(part[-2:])}-{number}" for number, part in enumerate(parts, start=1)]


class RowsRead(ExitStack):
    """Tells, in a with-statement, how many of a data set's rows have been worked on: a bar, or lines in a log.

    Nothing is told of row groups that are not watched, such as those whose embeddings are read from elsewhere.
    """

    def __init__(self, manifest: Manifest) -> None:
        super().__init__()
        self._manifest, self._done = manifest, 0
        self._meter: Meter | None = None

    def watch(self, places: Sequence[RowGroup]) -> Sequence[RowGroup]:
        """The row groups; each counts as worked on when the next one is asked for."""
        self._meter = self._meter or self.enter_context(Meter(self._manifest.rows, "rows"))
        return _Watched(places, self)

    def passed(self, place: RowGroup) -> None:
        """The rows of one more row group are done."""
        self._done += sum(self._manifest.shards[place.shard].row_groups[place.index])
        if self._meter is not None:
            self._meter.tell(self._done)


class _Watched(list[RowGroup]):
    """Row groups that tell when they have been passed."""

    def __init__(self, places: Sequence[RowGroup], rows: RowsRead) -> None:
        super().__init__(places)
        self._rows = rows

    def __iter__(self) -> Iterator[RowGroup]:
        for place in super().__iter__():
            yield place
            self._rows.passed(place)
