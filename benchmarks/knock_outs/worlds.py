"""The data that the mechanisms are measured on, made where it is not there yet."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.knock_outs.named_scenes import world
from benchmarks.msrvtt_dual.data import videos
from benchmarks.msrvtt_ridge import allowed_text, msrvtt, prepare
from vtr_core.data.manifest import splits


@dataclass(frozen=True)
class Place:
    """Where worlds are made, and the folder of real data."""

    work: str
    data: str


def _scenes(place: Place) -> Mapping[str, str]:
    """Clips whose scene, that no caption names, decides what their features mean."""
    from pipelines.ingest.command import ingest
    from pipelines.ingest.ingest_options import IngestFlags
    from vtr_core.data.sources.synthetic import Synthetic

    folder = f"{place.work}/data/8-scenes"
    if not splits(folder):
        clips = Synthetic(scenes=8, noise=0.3, style=0.5, misalignment=0.0, mention=0.9, num_clips=12_000)
        ingest(clips, IngestFlags(out=folder))
    return splits(folder)


def _named_scenes(place: Place) -> Mapping[str, str]:
    """The clip's place, which captions name, decides what its features mean."""
    from pipelines.ingest.command import ingest
    from pipelines.ingest.ingest_options import IngestFlags

    folder = f"{place.work}/data/8-named-scenes"
    if not splits(folder):
        ingest(world(clips=12_000, seed=0), IngestFlags(out=folder))
    return splits(folder)


def _rotations(place: Place) -> Mapping[str, str]:
    """Clips of 64 scenes that turn what features mean; captions tell every concept and no scene."""
    from benchmarks.knock_outs.rotations import Rotations
    from pipelines.ingest.command import ingest
    from pipelines.ingest.ingest_options import IngestFlags

    folder = f"{place.work}/data/64-rotations"
    if not splits(folder):
        ingest(Rotations(), IngestFlags(out=folder))
    return splits(folder)


def _small_things(place: Place) -> Mapping[str, str]:
    from pipelines.ingest.command import ingest
    from pipelines.ingest.ingest_options import IngestFlags
    from vtr_core.data.sources.synthetic import SyntheticTokens

    folder = f"{place.work}/data/small-things"
    if not splits(folder):
        ingest(SyntheticTokens(), IngestFlags(out=folder))
    return splits(folder)


def _msrvtt(place: Place) -> Mapping[str, str]:
    """The folder of the splits for training, where the table of concepts lies beside them."""
    sets = videos(Path(place.data), Path(place.work) / "data/msrvtt-800")
    return {"train": str(Path(sets.train).parent), "val": sets.val, "test": sets.test}


def _msrvtt_clips(place: Place) -> Mapping[str, str]:
    """The same videos as single vectors, mean and deviation over time, with given word vectors."""
    folder, source = Path(place.work) / "data/msrvtt-800-clips", msrvtt(Path(place.data))
    if not splits(str(folder / "data")):
        prepare(source, allowed_text(source, 0), folder, 0)
    return splits(str(folder / "data"))


def _faces(place: Place) -> Mapping[str, str]:
    """AT&T: subjects s1 to s5 validate, s6 to s10 test, 25 train."""
    from pipelines.ingest.command import ingest
    from pipelines.ingest.ingest_options import IngestFlags
    from vtr_core.data.sources.faces import Faces

    folder = f"{place.work}/data/att-faces"
    if not splits(folder):
        subjects = [f"s{number}" for number in range(1, 11)]
        source = Faces(root=f"{place.data}/att_faces", validation=tuple(subjects[:5]), test=tuple(subjects[5:]))
        ingest(source, IngestFlags(out=folder))
    return splits(folder)


WORLDS: Mapping[str, Callable[[Place], Mapping[str, str]]] = {
    "8-scenes": _scenes,
    "8-named-scenes": _named_scenes,
    "64-rotations": _rotations,
    "small-things": _small_things,
    "msrvtt-800": _msrvtt,
    "msrvtt-800-clips": _msrvtt_clips,
    "att-faces": _faces,
}
"""By name, what gives the splits of a data set, made where they are not there yet."""
