"""Features are the same, bit for bit, with any number of decoders, in this process and on Ray."""

import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.builders.small_videos import grey_video
from vtr_core.backbones.howto import WindowExtractor
from vtr_core.backbones.inputs import IMAGENET, PictureExtractor
from vtr_core.backbones.recipes import Extractor, Recipe, recipe
from vtr_core.extraction.features import Chosen, Extracted, VideoFeatures
from vtr_core.extraction.outputs import extract_here
from vtr_core.unusable import UnusableError
from vtr_core.video.process import Limits
from vtr_core.video.streams import Codec, PictureStream, SoundStream

SECONDS = 70


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A long film with sound and key frames every two seconds, a short one, a broken one and one that is not there."""
    folder = tmp_path_factory.mktemp("films")
    codec = Codec(sound="aac", options={"preset": "veryfast", "g": "1"})
    long_ = grey_video(folder / "long.mp4", [2.5 * k for k in range(28)], sound_s=SECONDS, codec=codec)
    short = grey_video(folder / "short.mp4", [k / 5 for k in range(12)], sound_s=2.4)
    (folder / "text.mp4").write_text("no video")
    return [str(long_), str(short), str(folder / "text.mp4"), str(folder / "gone.mp4")]


def of_pictures() -> Recipe:
    """imagenet-lite's stream, seen by one convolution."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = torch.nn.Sequential(torch.nn.Conv2d(3, 6, 16, 16), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
    load = partial(_loaded, PictureExtractor(network, IMAGENET, "cpu"))
    return replace(recipe("imagenet-lite"), dim=6, weights=None, load=load)


def of_windows() -> Recipe:
    """howto-3d's stream and windows, seen by one convolution."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = torch.nn.Sequential(torch.nn.Conv3d(3, 5, 4, 4), torch.nn.AdaptiveAvgPool3d(1), torch.nn.Flatten())
    load = partial(_loaded, WindowExtractor(network, "cpu"))
    return replace(recipe("howto-3d"), dim=5, weights=None, load=load)


def _loaded(extractor: Extractor, weights: str | None, device: str) -> Extractor:
    assert (weights, device) == (None, "cpu")
    return extractor


def small_chunks(choice: Chosen) -> Chosen:
    """Chunks of four seconds, so that there are many in a minute."""
    stream = choice.recipe.stream
    match stream:
        case PictureStream():
            shorter = replace(choice.recipe, stream=replace(stream, chunk=4))
        case SoundStream():
            shorter = replace(choice.recipe, stream=replace(stream, chunk=4 * stream.sample_rate))
    return replace(choice, recipe=shorter)


def recipes() -> tuple[Chosen, ...]:
    """Pictures each second, windows of pictures, and sound whose columns look beyond its chunks."""
    chosen = (of_pictures(), recipe("log-mel"))
    return (*(small_chunks(Chosen(choice, None, None)) for choice in chosen), Chosen(of_windows(), None, None))


def same(extracted: dict[int, Extracted], expected: dict[int, Extracted]) -> None:
    """Every value of every video."""
    assert extracted.keys() == expected.keys()
    for position, video in expected.items():
        other = extracted[position]
        if isinstance(video, UnusableError) or isinstance(other, UnusableError):
            assert repr(video) == repr(other)
            continue
        assert video.duration == other.duration
        assert video.by_recipe.keys() == other.by_recipe.keys()
        assert all(np.array_equal(rows, other.by_recipe[i]) for i, rows in video.by_recipe.items())


@pytest.fixture(scope="module")
def expected(films: list[str]) -> dict[int, Extracted]:
    return dict(extract_here(films, recipes(), Limits(), "cpu", 1))


def test_one_pass_sees_and_hears_all_of_it(expected: dict[int, Extracted]) -> None:
    long_ = expected[0]
    assert isinstance(long_, VideoFeatures)
    assert long_.duration == pytest.approx(SECONDS, abs=0.5)
    assert [len(rows) for _, rows in sorted(long_.by_recipe.items())] == [68, 70, 102]
    assert len(np.unique(long_.by_recipe[0], axis=0)) == 28


def test_features_do_not_depend_on_the_number_of_decoders(films: list[str], expected: dict[int, Extracted]) -> None:
    same(dict(extract_here(films, recipes(), Limits(), "cpu", 3)), expected)


@pytest.mark.long
@pytest.mark.integration
def test_on_ray_too(films: list[str], expected: dict[int, Extracted], local_ray: None) -> None:
    from vtr_core.extraction.on_ray import Resources, extract_on_ray

    chosen = recipes()[:2]
    extracted = dict(extract_on_ray(films, chosen, Limits(), Resources.of(2, 0, 1)))
    same(extracted, {position: _without(video, 2) for position, video in expected.items()})


def _without(video: Extracted, recipe: int) -> Extracted:
    if isinstance(video, UnusableError):
        return video
    return replace(video, by_recipe={i: rows for i, rows in video.by_recipe.items() if i != recipe})


@dataclass(frozen=True)
class Dying:
    """Ends its process when it first sees anything, as a node that is lost does."""

    marker: Path

    def __call__(self, values: np.ndarray) -> np.ndarray:
        if not self.marker.exists():
            self.marker.touch()
            os._exit(1)
        return values.mean(axis=(1, 2)).astype(np.float32)


@pytest.mark.long
@pytest.mark.integration
def test_what_a_lost_actor_had_is_done_again(films: list[str], tmp_path: Path, local_ray: None) -> None:
    from vtr_core.extraction.on_ray import Resources, extract_on_ray

    dying = replace(of_pictures(), dim=3, load=partial(_loaded, Dying(tmp_path / "died")))
    extracted = dict(extract_on_ray(films[1:], (Chosen(dying, None, None),), Limits(), Resources.of(2, 0, 1)))
    assert (tmp_path / "died").exists()
    assert isinstance(extracted[0], VideoFeatures)
    assert [isinstance(extracted[position], UnusableError) for position in (1, 2)] == [True, True]
