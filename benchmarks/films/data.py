"""The data of the tables: films as clips and as whole videos, MSR-VTT-800, vidrel, split by what must be unseen."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.caption_vectors import caption_vectors, write_glove
from benchmarks.msrvtt_dual.data import videos
from benchmarks.msrvtt_ridge import SHARES, allowed_text, msrvtt
from benchmarks.worlds import Place
from benchmarks.worlds import vidrel as vidrel_clips
from pipelines.concepts import ConceptFlags, concepts
from pipelines.extract.command import ExtractFlags, extract
from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from vtr_core import storage
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.storage import locate

SPLITS = ("train", "val", "test")
VIDREL_SHARES = {"train": 0.6, "val": 0.2, "test": 0.2}
"""Of vidrel's clips."""


@dataclass(frozen=True)
class Sets:
    """The splits of one collection by records: `of["clips"]["test"]` is the data set's place.

    Sets beside train, val and test are judged whole by the models that were trained on train.
    """

    of: Mapping[str, Mapping[str, str]]

    @property
    def judged(self) -> tuple[str, ...]:
        """The names of the sets that figures are of, test first."""
        return tuple(name for name in self.of["clips"] if name not in ("train", "val"))


@dataclass(frozen=True)
class Captioned:
    """Clips with their pooled rows, and captions with the clip that each belongs to."""

    rows: np.ndarray
    """(clips, values): the mean of a clip's rows, then their standard deviation."""
    captions: tuple[str, ...]
    clip: np.ndarray


def films(data: Path, work: Path, others: Mapping[str, str]) -> Sets:
    """Films extracted once as clips and once as whole videos; others: by name a table of further films.

    The table of a collection lies beside its folder `videos`; the splits of the first one are those of the table.
    """
    places: dict[str, dict[str, str]] = {}
    for records in ("clips", "videos"):
        _extract(data / "films.csv", work / records, records)
        places[records] = {split: str(work / records / split) for split in SPLITS}
        if records == "videos" and not (work / records / "concepts").exists():
            concepts(ConceptFlags((str(work / records),), num_concepts=32))
        for name, table in others.items():
            _extract(Path(table), work / name / records, records)
            places[records][name] = str(work / name / records)
    return Sets(places)


def msrvtt_800(data: Path, work: Path) -> Sets:
    """MSR-VTT's videos that have features, split by video as for `benchmarks.msrvtt_ridge`; of no encoder.

    Clips have word vectors of the captions that may be learned from, for the rows that read words.
    """
    out, vectors = work / "clips", work / "caption_vectors.txt"
    if not _made(out / "test"):
        text = allowed_text(msrvtt(data), 0)
        work.mkdir(parents=True, exist_ok=True)
        write_glove(caption_vectors([*text.train, *text.more]), vectors)
        flags = IngestFlags(out=str(out), splits=SHARES, word_vectors=str(vectors), videos_per_shard=64, workers=0)
        ingest(msrvtt(data), flags)
    whole = videos(data, work)
    of_videos = {"train": whole.train, "val": whole.val, "test": whole.test}
    return Sets({"clips": {split: str(out / split) for split in SPLITS}, "videos": of_videos})


def vidrel(data: Path, work: Path) -> Sets:
    """Clips with ResNet-152 and C3D features and a caption of three words, split at random; of no encoder."""
    return Sets({"clips": vidrel_clips(Place(str(work), str(data)), VIDREL_SHARES)})


def read(uri: str) -> Captioned:
    """A data set of clips in memory, a clip's features side by side."""
    manifest = Manifest.load(uri)
    features = sorted(feature.name for feature in manifest.schema.features)
    reader = RowGroupReader(manifest, ["clip_id", "caption", *features])
    groups = [reader.read(place) for place in row_groups(manifest)]
    clips, captions, *values = (np.concatenate([group[name] for group in groups]) for name in reader.columns)
    rows = np.concatenate(values, axis=1)
    _, first, clip = np.unique(clips, return_index=True, return_inverse=True)
    return Captioned(rows[first].astype(np.float32), tuple(captions), clip)


def _extract(table: Path, out: Path, records: str) -> None:
    """The rows of EfficientNet-Lite0 as it makes them, a frame a second, in the process."""
    if _made(out / "test") or _made(out):
        return
    flags = ExtractFlags(
        videos=str(table.parent / "videos"),
        out=str(out),
        captions=str(table),
        recipe=("imagenet-lite",),
        records="clips" if records == "clips" else "videos",
        normalise=False,
        workers=0,
    )
    extract(flags)


def _made(folder: Path) -> bool:
    return storage.exists(locate(str(folder / "manifest.json")))
