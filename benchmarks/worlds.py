"""The worlds that benchmarks train on: synthetic ones, and real features, made where they are not there yet.

In the world of rotations a clip's scene, which no caption names, rotates what its features mean, and every concept is
told. Less is hidden than in `vtr ingest synthetic --scenes`: a clip has three concepts, uniformly drawn, and its
caption is their three names, so that a low recall comes from the network and not from what captions leave out.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int
from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt

from benchmarks.msrvtt_dual.data import videos
from benchmarks.msrvtt_ridge import allowed_text, msrvtt, prepare
from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from vtr_core.config.override import SourceSettings
from vtr_core.data.manifest import splits
from vtr_core.data.records.schema import FeatureSpec
from vtr_core.data.sources.faces import Faces
from vtr_core.data.sources.instructional.howto100m import HowTo100M
from vtr_core.data.sources.pairs import Pairs
from vtr_core.data.sources.source import Clip, Drops, VideoEntry
from vtr_core.data.sources.synthetic import Synthetic, SyntheticTokens, split_entries

_SLOTS = 3
_CODE_DIM = 24
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_WORLD = 2**40
"""The random stream of what all clips share, beyond all indices of clips."""


class Rotations(SourceSettings):
    """Clips whose feature is P [R_s o, c_s] + noise: o the codes of its concepts, R_s a random rotation and c_s a
    random code of its scene, P a fixed random projection for each modality.
    """

    name: ClassVar[str] = "rotations"

    num_clips: PositiveInt = 12_000
    num_scenes: PositiveInt = 64
    num_concepts: PositiveInt = 40
    """Concepts of each of the three slots."""
    dim: PositiveInt = 512
    """Dimension of `video` and of `audio`."""
    noise: NonNegativeFloat = 0.3
    """Standard deviation of the noise of a feature value; the signal's is 1."""
    seed: NonNegativeInt = 0

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video` and `audio`, which show the same with different projections and noise."""
        return FeatureSpec("video", self.dim), FeatureSpec("audio", self.dim)

    def videos(self, drops: Drops) -> Sequence[VideoEntry]:  # noqa: ARG002  (nothing here can be at fault)
        """A video of one clip for each, see `split_entries`."""
        return split_entries([f"turned{index:06d}" for index in range(self.num_clips)], self.seed)

    def captions(self, videos: Sequence[VideoEntry]) -> Iterable[str]:
        """The captions of all clips."""
        return (self._caption(self._content(video.content)[0]) for video in videos)

    def clips(self, video: VideoEntry, drops: Drops) -> Iterator[Clip]:  # noqa: ARG002
        """The one clip of a video."""
        concepts, scene = self._content(video.content)
        codes = self._codes[np.arange(_SLOTS), concepts].ravel()
        shown = np.concatenate([self._turns[scene] @ codes, self._scene_codes[scene]])
        rng = np.random.default_rng((self.seed, video.content, 1))
        noise = self.noise * rng.standard_normal((2, self.dim))
        values = (shown @ self._projections + noise).astype(np.float16)
        yield Clip(
            video.video_id, 0.0, 10.0, self._caption(concepts), dict(zip(("video", "audio"), values, strict=True))
        )

    def _content(self, clip: int) -> tuple[Int[np.ndarray, " slots"], int]:
        """The concepts of a clip by slot, and its scene."""
        rng = np.random.default_rng((self.seed, clip, 0))
        return rng.integers(self.num_concepts, size=_SLOTS), int(rng.integers(self.num_scenes))

    def _caption(self, concepts: Int[np.ndarray, " slots"]) -> str:
        return " ".join(_word(slot, int(concept)) for slot, concept in enumerate(concepts))

    def _world(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, _WORLD, purpose))

    @cached_property
    def _codes(self) -> Float[np.ndarray, "slots concepts dim"]:
        return self._world(0).standard_normal((_SLOTS, self.num_concepts, _CODE_DIM))

    @cached_property
    def _turns(self) -> Float[np.ndarray, "scenes size size"]:
        size = _SLOTS * _CODE_DIM
        return np.linalg.qr(self._world(1).standard_normal((self.num_scenes, size, size)))[0]

    @cached_property
    def _scene_codes(self) -> Float[np.ndarray, "scenes size"]:
        return self._world(2).standard_normal((self.num_scenes, _SLOTS * _CODE_DIM))

    @cached_property
    def _projections(self) -> Float[np.ndarray, "modalities codes dim"]:
        size = 2 * _SLOTS * _CODE_DIM
        return self._world(3).standard_normal((2, size, self.dim)) / np.sqrt(size)


def _word(slot: int, concept: int) -> str:
    """A made-up word, different for each concept of each slot."""
    rest, vowel = divmod(concept, len(_VOWELS))
    return "abc"[slot] + _CONSONANTS[rest % len(_CONSONANTS)] + _VOWELS[vowel] + "x" * (rest // len(_CONSONANTS))


LITTLE_NOISE: Mapping[str, float] = {"noise": 0.3, "style": 0.5, "misalignment": 0.0, "mention": 0.9}
"""Of worlds with scenes: with the default noise no network learns them."""
NAMED_SCENES: Mapping[str, Any] = {"scenes": 8, "named_scenes": True, **LITTLE_NOISE}
"""Clips of named scenes, which decide what their features mean."""
ROUTING_BY_SCENE: Mapping[str, Any] = {
    "model.initialization": "scaled",
    "model.routing.carried_presence": 8.0,
    "optimizer.warmup_steps": 20,
    "optimizer.gradient_clip": 5.0,
}
"""Changes of capsule-howto-tiny with which activations follow scenes: a capsule's presence is carried through the
routing, and activations that are multiplied need weights of a known size and small first steps."""


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


def rotations(place: Place) -> Splits:
    """Clips of 64 scenes that turn what features mean; captions tell every concept and no scene."""
    return made(f"{place.folder}/data", lambda: Rotations(num_clips=place.clips))


def small_things(place: Place) -> Splits:
    """Videos of tokens, a patch or two of which decide what a caption tells."""
    return made(f"{place.folder}/data", SyntheticTokens)


def msrvtt_videos(place: Place) -> Splits:
    """800 whole videos of MSR-VTT; train: the folder of the splits, in which the table of concepts lies, too."""
    sets = videos(Path(place.real), Path(place.folder))
    return {"train": str(Path(sets.train).parent), "val": sets.val, "test": sets.test}


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


def att_faces(place: Place) -> Splits:
    """AT&T: subjects s1 to s5 validate, s6 to s10 test, 25 train."""
    subjects = [f"s{number}" for number in range(1, 11)]
    faces = Faces(root=f"{place.real}/att_faces", validation=tuple(subjects[:5]), test=tuple(subjects[5:]))
    return made(f"{place.folder}/data", lambda: faces)
