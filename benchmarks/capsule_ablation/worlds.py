"""The data that the rows are compared on: synthetic worlds, and three sets of real features."""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.capsule_tables import vidrel
from benchmarks.msrvtt_ridge import allowed_text, msrvtt, prepare
from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from vtr_core.data.manifest import splits
from vtr_core.data.sources.pairs import Pairs
from vtr_core.data.sources.synthetic import Synthetic

VIDREL_SHARES = {"train": 0.6, "val": 0.2, "test": 0.2}


@dataclass(frozen=True)
class Place:
    """Where a world is made, from which real data, and of how many clips if it is synthetic."""

    folder: str
    real: str
    clips: int


@dataclass(frozen=True)
class World:
    """Data with the splits train, val and test, how every row is trained on it, and which figures are shown."""

    make: Callable[[Place], str]
    """Makes the data where it is missing; returns its folder."""
    what: str
    """For the page."""
    changes: Mapping[str, object] = field(default_factory=dict)
    direction: str = "t2v"
    """Retrieval that rows are chosen and judged by."""

    @property
    def shown(self) -> Sequence[str]:
        """The metrics of the page; the last one chooses and judges."""
        return (f"{self.direction}/r1", f"{self.direction}/r10")


def synthetic(settings: Mapping[str, float]) -> Callable[[Place], str]:
    """Makes a synthetic world that differs from the default one by `settings`."""

    def make(place: Place) -> str:
        data = f"{place.folder}/data"
        if not splits(data):
            source: Any = Synthetic.model_validate({**settings, "num_clips": place.clips})
            ingest(source, IngestFlags(out=data, workers=0))
        return data

    return make


def msrvtt_800(place: Place) -> str:
    """800 videos of MSR-VTT, split by video, with word vectors of the captions that may be learned from."""
    source = msrvtt(Path(place.real))
    prepare(source, allowed_text(source, 0), Path(place.folder), 0)
    return f"{place.folder}/data"


def vidrel_clips(place: Place) -> str:
    """vidrel's clips, split at random."""
    data = f"{place.folder}/data"
    if not splits(data):
        ingest(vidrel(Path(place.real) / "vidrel"), IngestFlags(out=data, splits=VIDREL_SHARES, workers=0))
    return data


def avletters(place: Place) -> str:
    """AVLetters: the first utterance of a letter trains; of the second, half of the speakers validate, half test."""
    data, folder = f"{place.folder}/data", Path(place.real) / "avletters"
    if not splits(data):
        table = Path(place.folder) / "table.csv"
        table.parent.mkdir(parents=True, exist_ok=True)
        _write_utterances(table, sorted(file.stem for file in (folder / "lips").glob("*.npy")))
        source = Pairs(table=str(table), root=str(folder), feature_columns=("video", "audio"))
        ingest(source, IngestFlags(out=data, workers=0))
    return data


def _write_utterances(table: Path, names: Sequence[str]) -> None:
    """The table of utterances; a name is <letter><repetition>_<speaker>, as in A1_Anya."""
    speakers = sorted({name[3:] for name in names})
    with table.open("w", newline="") as sink:
        rows = csv.writer(sink)
        rows.writerow(["id", "caption", "video", "audio", "split"])
        for name in names:
            later = "val" if speakers.index(name[3:]) % 2 else "test"
            split = "train" if name[1] == "1" else later
            rows.writerow([name, f"the letter {name[0]}", f"lips/{name}.npy", f"mfcc/{name}.npy", split])


def _real(videos: int, epochs: int, dropout: float, direction: str = "t2v") -> Mapping[str, object]:
    """Settings for a few hundred clips: a batch of one clip a video, a validation every 40 steps that chooses."""
    return {
        "batch.videos": videos,
        "batch.clips_per_video": 1,
        "model.input_dropout": dropout,
        "training.validate_every": epochs,
        "training.metric": f"val/{direction}/r10",
    }


_QUIET = {"noise": 0.3, "style": 0.5, "misalignment": 0.0, "mention": 0.9}
_SCENES = "What a feature means depends on the clip's scene, of which there are"
WORLDS: Mapping[str, World] = {
    "plain": World(synthetic({}), "The default synthetic world."),
    "8 scenes": World(synthetic({"scenes": 8, **_QUIET}), f"{_SCENES} 8; with less noise than by default."),
    "64 scenes": World(synthetic({"scenes": 64, **_QUIET}), f"{_SCENES} 64; with less noise than by default."),
    "MSR-VTT-800": World(
        msrvtt_800,
        "MSR-VTT's first 800 videos with 128-d frame features: 532 train, 72 choose, single captions search among 196.",
        _real(128, 10, 0.5),
    ),
    "AVLetters": World(
        avletters,
        "Lips and MFCC of spoken letters: 260 utterances train; of the 260 second ones, five speakers' choose and five "
        "speakers' are tested, video → audio. The speakers are those of training.",
        _real(128, 20, 0.3, "v2a"),
        "v2a",
    ),
    "vidrel": World(
        vidrel_clips,
        "Short clips with ResNet-152 and C3D features and a caption of three words: 212 train, 66 choose, 69 are "
        "tested; several have the same caption.",
        _real(60, 10, 0.3),
    ),
}
"""By the names of the page. Worlds with scenes have less noise than the default one, in which no row learns scenes."""
