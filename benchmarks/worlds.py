"""The worlds that benchmarks train on: synthetic ones, and real features, made where they are not there yet."""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.msrvtt_ridge import allowed_text, msrvtt, prepare
from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from vtr_core.data.manifest import splits
from vtr_core.data.sources.instructional.howto100m import HowTo100M
from vtr_core.data.sources.pairs import Pairs
from vtr_core.data.sources.synthetic import Synthetic

LITTLE_NOISE: Mapping[str, float] = {"noise": 0.3, "style": 0.5, "misalignment": 0.0, "mention": 0.9}
"""Of worlds with scenes: with the default noise no network learns them."""


@dataclass(frozen=True)
class Place:
    """Where a world is made, the folder of real data, and how many clips a synthetic world has."""

    folder: str
    real: str
    clips: int = 12_000


Splits = Mapping[str, str]
"""By split the place of its data set."""
Maker = Callable[[Place], Splits]
"""Makes a world where it is missing."""


def made(folder: str, source: Callable[[], Any], **flags: Any) -> Splits:
    """The splits of the data set in `folder`, ingested from `source` where they are not there yet."""
    if not splits(folder):
        ingest(source(), IngestFlags(out=folder, workers=0, **flags))
    return splits(folder)


def synthetic(settings: Mapping[str, Any]) -> Maker:
    """A synthetic world that differs from the default one by `settings`."""
    return lambda place: made(f"{place.folder}/data", lambda: Synthetic(**settings, num_clips=place.clips))


def msrvtt_clips(place: Place) -> Splits:
    """The same as single vectors, mean and deviation over time, with word vectors of captions that may be read."""
    if not splits(f"{place.folder}/data"):
        source = msrvtt(Path(place.real))
        prepare(source, allowed_text(source, 0), Path(place.folder), 0)
    return splits(f"{place.folder}/data")


def vidrel(place: Place, shares: Mapping[str, float]) -> Splits:
    """Short clips with ResNet-152 and C3D features and one short caption each, split at random."""
    folder = Path(place.real) / "vidrel"
    source = HowTo100M(
        features_2d=str(folder / "resnet152"),
        features_3d=str(folder / "c3d"),
        annotations=str(folder / "captions.csv"),
    )
    return made(f"{place.folder}/data", lambda: source, splits=shares)


def avletters(place: Place) -> Splits:
    """AVLetters: the first utterance of a letter trains; of the second, half of the speakers validate, half test."""
    folder, table = Path(place.real) / "avletters", Path(place.folder) / "table.csv"

    def source() -> Pairs:
        table.parent.mkdir(parents=True, exist_ok=True)
        _write_utterances(table, sorted(file.stem for file in (folder / "lips").glob("*.npy")))
        return Pairs(table=str(table), root=str(folder), feature_columns=("video", "audio"))

    return made(f"{place.folder}/data", source)


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
