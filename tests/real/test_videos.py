"""Real video files: which frames are seen, what they show, and what all recipes that need no weights make of them."""

from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
import torch

from pipelines.extract.command import ExtractFlags, extract, run
from tests.reference.video import frame_times, shown_at
from vtr_core.backbones.imagenet_lite import NORMALIZATION, classifier
from vtr_core.backbones.inputs import to_floats
from vtr_core.backbones.recipes import installed, recipe
from vtr_core.storage import locate
from vtr_core.video.decoding import decode
from vtr_core.video.streams import Chunk, PictureStream, picture

pytestmark = pytest.mark.real

SEEN = {
    "demo.mp4": [14 + 28 * k for k in range(10)],
    "test.avi": [11, 36, 61, 86, 111, 136, 161],
    "v_GGSY1Qvo990.mp4": [
        *(9, 29, 49, 68, 88, 107, 127, 147, 166),
        *(186, 206, 225, 245, 264, 284, 304, 323, 343),
    ],
}
"""The frames that are shown in the middle of each second."""
TIMES = {
    "demo.mp4": [k + 0.5 for k in range(10)],
    "test.avi": [k + 0.48 for k in range(7)],
    "v_GGSY1Qvo990.mp4": [
        *(0.4587, 1.4781, 2.4975, 3.4659, 4.4852, 5.4536, 6.473, 7.4924, 8.4608),
        *(9.4801, 10.4995, 11.4679, 12.4873, 13.4557, 14.475, 15.4944, 16.4628, 17.4822),
    ],
}
CLASSES = {"demo.mp4": {691, 543}, "test.avi": {697, 691}, "v_GGSY1Qvo990.mp4": {422, 543}}
"""ImageNet's first two: oxygen mask and dumbbell; pajama and oxygen mask; barbell and dumbbell."""


@pytest.fixture(scope="module")
def videos(shared_data: Path) -> Path:
    return shared_data / "videos"


def _pictures(path: Path) -> np.ndarray:
    stream = recipe("imagenet-lite").stream
    return np.concatenate([part.values for part in decode(locate(path), [stream]) if isinstance(part, Chunk)])


@pytest.mark.parametrize("name", SEEN)
def test_frames_are_those_of_the_middle_of_each_second(name: str, videos: Path) -> None:
    times, end = frame_times(videos / name)
    assert shown_at(times, end, 1.0) == SEEN[name]
    assert [times[index] for index in SEEN[name]] == pytest.approx(TIMES[name], abs=1e-3)
    stream = recipe("imagenet-lite").stream
    assert isinstance(stream, PictureStream)
    with av.open(str(videos / name)) as container:
        every = list(container.decode(video=0))
        expected = np.stack([picture(every[index], stream.picture) for index in SEEN[name]])
    assert np.array_equal(_pictures(videos / name), expected)


@pytest.mark.parametrize("name", SEEN)
def test_what_imagenet_lite_sees(name: str, videos: Path) -> None:
    network = classifier(str(installed(recipe("imagenet-lite"))))
    with torch.inference_mode():
        found = network(to_floats(_pictures(videos / name), NORMALIZATION, "cpu")).softmax(dim=1).mean(dim=0)
    assert set(found.topk(2).indices.tolist()) == CLASSES[name]
    if name == "v_GGSY1Qvo990.mp4":
        assert found[422].item() == pytest.approx(0.791, abs=0.01)


def test_the_folder_is_extracted(videos: Path, tmp_path: Path) -> None:
    rows = [f"{name.partition('.')[0]},a film,{name}" for name in SEEN]
    (tmp_path / "captions.csv").write_text("\n".join(["id,caption,video", *rows]))
    flags = ExtractFlags(str(videos), str(tmp_path / "d"), str(tmp_path / "captions.csv"), workers=0, strict=True)
    (manifest,) = extract(flags).manifests
    assert (manifest.rows, manifest.dropped) == (3, {})
    run(replace(flags, out=str(tmp_path / "features"), captions=None, features_only=True))
    shapes = {file.stem: np.load(file).shape for file in (tmp_path / "features" / "log-mel").iterdir()}
    assert shapes == {"test": (7, 80), "v_GGSY1Qvo990": (18, 80)}
