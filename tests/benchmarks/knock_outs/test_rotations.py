"""The world of rotated features: captions tell the concepts, and a map that knows the scene finds them."""

import numpy as np

from benchmarks.knock_outs.rotations import Rotations
from vtr_core.data.sources.source import Clip, Drops

FEW = Rotations(num_clips=3000, num_scenes=10, num_concepts=10, dim=160, noise=0.1)


def clips() -> list[Clip]:
    return [clip for entry in FEW.videos(Drops()) for clip in FEW.clips(entry, Drops())]


def test_clips_are_the_same_each_time_and_captions_are_words_of_three_slots() -> None:
    first, again = clips(), clips()
    assert all(np.array_equal(a.features["video"], b.features["video"]) for a, b in zip(first, again, strict=True))
    assert list(FEW.captions(FEW.videos(Drops()))) == [clip.caption for clip in first]
    words = [clip.caption.split() for clip in first]
    assert [len({told[slot] for told in words}) for slot in range(3)] == [10, 10, 10]
    assert not {told[0] for told in words} & {told[1] for told in words}


def test_no_linear_map_of_all_scenes_finds_the_concepts_but_one_for_each_scene_does() -> None:
    entries, found = FEW.videos(Drops()), clips()
    values = np.stack([clip.features["video"] for clip in found]).astype(np.float64)
    first = np.array([sorted({c.caption.split()[0] for c in found}).index(clip.caption.split()[0]) for clip in found])
    scene = np.array([FEW._content(entry.content)[1] for entry in entries])
    together = _accuracy(values, first)
    apart = np.mean([_accuracy(values[scene == one], first[scene == one]) for one in range(FEW.num_scenes)])
    assert apart > 0.95
    assert together < 0.8


def _accuracy(values: np.ndarray, label: np.ndarray) -> float:
    """Of a ridge regression on the first half, on the second."""
    half, wanted = len(values) // 2, np.eye(10)[label]
    train = values[:half]
    weights = np.linalg.solve(train.T @ train + np.eye(values.shape[1]), train.T @ wanted[:half])
    return float(((values[half:] @ weights).argmax(axis=1) == label[half:]).mean())
