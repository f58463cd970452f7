"""EfficientNet-Lite0 with ImageNet weights from a Python package, which works on a fresh machine.

`imagenet-lite` is a vector of each frame; `imagenet-lite-tokens` has the vectors of its places, too.
"""

import torch
from efficientnet_lite_pytorch import EfficientNet
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from vtr_core.backbones.inputs import Normalization, PictureExtractor
from vtr_core.backbones.weights import read_state

_NAME = "efficientnet-lite0"
_PAIRS = (
    ("_conv_stem", "_bn0"),
    ("_conv_head", "_bn1"),
    ("_expand_conv", "_bn0"),
    ("_depthwise_conv", "_bn1"),
    ("_project_conv", "_bn2"),
)
NORMALIZATION = Normalization((127.0, 127.0, 127.0), (128.0, 128.0, 128.0), divisor=1.0)


def load(weights: str | None, device: str) -> PictureExtractor:
    """The extractor from (frames, 224, 224, 3) to (frames, 1280): the spatial mean of the last convolution's output."""
    return _extractor(Pooled(classifier(weights), device), device)


def load_tokens(weights: str | None, device: str) -> PictureExtractor:
    """The extractor from (frames, 224, 224, 3) to (frames, 50 · 1280): the spatial mean, then the 7 × 7 places."""
    return _extractor(Tokens(classifier(weights), device), device)


def classifier(weights: str | None) -> EfficientNet:
    """The published network with its classifier, in evaluation mode; with random weights where none are given."""
    network = EfficientNet.from_name(_NAME)
    if weights is not None:
        network.load_state_dict(read_state(weights))
    return network.eval()


class LastConvolution(nn.Module):
    """The network without its classifier, with batch normalisation folded into the convolutions.

    Values are clipped in place, and padding is left to the convolutions where it is symmetric: on a CPU new memory of
    this size takes longer than what is computed in it.
    """

    def __init__(self, network: EfficientNet, device: str) -> None:
        super().__init__()
        for module in [network, *network._blocks]:  # noqa: SLF001
            _fuse(module)
            module._swish = nn.ReLU6(inplace=True)  # noqa: SLF001
        for module in network.modules():
            if isinstance(module, nn.Conv2d):
                _hasten(module, device)
        self.network = network

    def places(self, pictures: Float[Tensor, "frames 3 height width"]) -> Float[Tensor, "frames dim rows columns"]:
        """The last convolution's output, with 1280 channels and a 32nd of the pictures' height and width."""
        pictures = pictures.contiguous(memory_format=torch.channels_last)
        maps: Tensor = self.network.extract_features(pictures)
        return maps


class Pooled(LastConvolution):
    """The mean over places."""

    def forward(self, pictures: Float[Tensor, "frames 3 height width"]) -> Float[Tensor, "frames dim"]:
        """The features, (frames, 1280)."""
        return self.places(pictures).mean(dim=(2, 3))


class Tokens(LastConvolution):
    """The mean over places, in the place of a transformer's [CLS] token, and the places row by row."""

    def forward(self, pictures: Float[Tensor, "frames 3 height width"]) -> Float[Tensor, "frames values"]:
        """The tokens of each frame one after the other, 1280 values each."""
        places = self.places(pictures).flatten(2)
        return torch.cat([places.mean(dim=2, keepdim=True), places], dim=2).transpose(1, 2).flatten(1)


def _extractor(network: LastConvolution, device: str) -> PictureExtractor:
    placed = network.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return PictureExtractor(placed, NORMALIZATION, device)


def _fuse(module: nn.Module) -> None:
    for convolution, norm in _PAIRS:
        if hasattr(module, convolution) and isinstance(getattr(module, norm, None), nn.BatchNorm2d):
            setattr(module, convolution, fuse_conv_bn_eval(getattr(module, convolution), getattr(module, norm)))
            setattr(module, norm, nn.Identity())


def _hasten(convolution: nn.Conv2d, device: str) -> None:
    """Leave symmetric padding to the convolution, and on a CPU convolutions of single pixels to oneDNN.

    Of these torch asks oneDNN in one thread only where they are dilated, which makes no difference to them.
    """
    size = convolution.kernel_size[0]
    if size == 1 and device == "cpu":
        convolution.dilation = (2, 2)
    elif size > 1 and convolution.stride == (1, 1):
        convolution.padding, convolution.static_padding = (size // 2, size // 2), nn.Identity()
