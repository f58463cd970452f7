"""`howto-2d`, `howto-3d`, `resnext-resnet`: ResNet-152 and ResNeXt-101 on frames, 3D ResNeXt-101 on windows."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float32, UInt8
from torch import Tensor, nn

from vtr_core.backbones.pixels import IMAGENET, Normalization, PictureExtractor, to_floats
from vtr_core.backbones.resnet import RESNET_152, RESNEXT_101_3D, RESNEXT_101_32X4D, ResNet, ResNetShape
from vtr_core.backbones.weights import load_state, read_state

WINDOW = 16
"""Frames in a window of the 3D network."""
KINETICS_MEAN = Normalization((110.6, 103.2, 96.3), (1.0, 1.0, 1.0), divisor=1.0)
_WINDOWS_AT_ONCE = 4


def load_2d(weights: str | None, device: str) -> PictureExtractor:
    """The extractor from (frames, 224, 224, 3) to (frames, 2048)."""
    return PictureExtractor(network(RESNET_152, weights).to(device), IMAGENET, device)


def load_3d(weights: str | None, device: str) -> "WindowExtractor":
    """The extractor from (frames, 112, 112, 3) to (windows, 2048)."""
    return WindowExtractor(network(RESNEXT_101_3D, weights).to(device), device)


def load_side_by_side(weights: str | None, device: str) -> PictureExtractor:
    """The extractor from (frames, 224, 224, 3) to (frames, 4096); the weights file has `resnext.…` and `resnet.…`."""
    both = SideBySide()
    if weights is not None:
        state = read_state(weights)
        for name, part in both.named_children():
            load_state(part, _below(state, name), f"{weights}, {name}")
    return PictureExtractor(both.eval().to(device), IMAGENET, device)


def network(shape: ResNetShape, weights: str | None) -> ResNet:
    """The network in evaluation mode; with random weights where none are given."""
    made = ResNet(shape)
    if weights is not None:
        load_state(made, read_state(weights), weights)
    return made.eval()


class SideBySide(nn.Module):
    """Concatenated features of ResNeXt-101 and ResNet-152."""

    def __init__(self) -> None:
        super().__init__()
        self.resnext = ResNet(RESNEXT_101_32X4D)
        self.resnet = ResNet(RESNET_152)

    def forward(self, pictures: Float[Tensor, "frames 3 height width"]) -> Float[Tensor, "frames dim"]:
        """The features, (frames, 4096)."""
        return torch.cat([self.resnext(pictures), self.resnet(pictures)], dim=1)


@dataclass(frozen=True)
class WindowExtractor:
    """One row per 16 frames; the last window is padded with black frames, as in the published extractor."""

    network: nn.Module
    device: str

    def __call__(self, values: UInt8[np.ndarray, "frames height width 3"]) -> Float32[np.ndarray, "rows dim"]:
        """The rows of consecutive windows without overlap."""
        missing = -len(values) % WINDOW
        full = np.concatenate([values, np.zeros((missing, *values.shape[1:]), np.uint8)])
        windows = torch.from_numpy(full.reshape(-1, WINDOW, *values.shape[1:]))
        with torch.inference_mode():
            rows = [self._seen(part) for part in windows.split(_WINDOWS_AT_ONCE)]
        return torch.cat(rows).float().cpu().numpy()

    def _seen(self, windows: UInt8[Tensor, "windows frames height width 3"]) -> Float[Tensor, "windows dim"]:
        frames = to_floats(windows.flatten(0, 1).numpy(), KINETICS_MEAN, self.device)
        features: Tensor = self.network(frames.unflatten(0, windows.shape[:2]).transpose(1, 2))
        return features


def _below(state: dict[str, Tensor], name: str) -> dict[str, Tensor]:
    return {key.removeprefix(f"{name}."): value for key, value in state.items() if key.startswith(f"{name}.")}
