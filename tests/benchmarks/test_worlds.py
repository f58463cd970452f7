"""Rotated features show the concepts to a map that knows the scene; real sets are split so that what is tested chose
nothing."""

from pathlib import Path

import numpy as np

from benchmarks.worlds import Place, Rotations, avletters, synthetic
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.sources.source import Clip, Drops

FEW = Rotations(num_clips=3000, num_scenes=10, num_concepts=10, dim=160, noise=0.1)


def clips() -> list[Clip]:
    return [clip for entry in FEW.videos(Drops()) for clip in FEW.clips(entry, Drops())]


def test_clips_are_the_same_each_time_and_captions_are_words_of_three_slots() -> None:
    first, again = clips(), clips()
    assert all(np.array_equal(a.features["video"], b.features["video"]) for a, b in zip(first, again, strict=True))
    assert list(FEW.captions(FEW.videos(Drops()))) == [clip.caption for clip in first]
    words = [clip.caption.split() for clip in first]
    assert [len({word[slot] for word in words}) for slot in range(3)] == [10, 10, 10]
    assert not {word[0] for word in words} & {word[1] for word in words}


def test_no_linear_map_of_all_scenes_finds_the_concepts_but_one_for_each_scene_does() -> None:
    entries, made = FEW.videos(Drops()), clips()
    values = np.stack([clip.features["video"] for clip in made]).astype(np.float64)
    first = np.array([sorted({c.caption.split()[0] for c in made}).index(clip.caption.split()[0]) for clip in made])
    scene = np.array([FEW._content(entry.content)[1] for entry in entries])
    together = _accuracy(values, first)
    apart = np.mean([_accuracy(values[scene == number], first[scene == number]) for number in range(FEW.num_scenes)])
    assert apart > 0.95
    assert together < 0.8


def _accuracy(values: np.ndarray, label: np.ndarray) -> float:
    """Of a ridge regression on the first half, on the second."""
    half, wanted = len(values) // 2, np.eye(10)[label]
    train = values[:half]
    weights = np.linalg.solve(train.T @ train + np.eye(values.shape[1]), train.T @ wanted[:half])
    return float(((values[half:] @ weights).argmax(axis=1) == label[half:]).mean())


def _ids(uri: str) -> set[str]:
    manifest = Manifest.load(uri)
    reader = RowGroupReader(manifest, ["video_id"])
    return {str(name) for place in row_groups(manifest) for name in reader.read(place)["video_id"]}


def test_utterances_are_split_by_repetition_and_speaker(tmp_path: Path) -> None:
    folder = tmp_path / "real" / "avletters"
    for part, shape, kind in (("lips", (3, 4, 5), np.uint8), ("mfcc", (4, 6), np.float32)):
        (folder / part).mkdir(parents=True)
        for name in ("A1_Anya", "A2_Anya", "A1_Bill", "A2_Bill", "B1_Anya", "B2_Anya"):
            np.save(folder / part / f"{name}.npy", np.ones(shape, kind))
    data = avletters(Place(str(tmp_path / "work"), str(tmp_path / "real"), 0))
    assert {name: _ids(uri) for name, uri in data.items()} == {
        "train": {"A1_Anya", "A1_Bill", "B1_Anya"},
        "val": {"A2_Bill"},
        "test": {"A2_Anya", "B2_Anya"},
    }
    assert avletters(Place(str(tmp_path / "work"), "no such folder", 0)) == data


def test_a_synthetic_world_has_the_clips_that_are_asked_for(tmp_path: Path) -> None:
    few, more = (synthetic({})(Place(str(tmp_path / str(n)), "no such folder", n)) for n in (60, 120))
    assert Manifest.load(few["train"]).rows < Manifest.load(more["train"]).rows <= 120
