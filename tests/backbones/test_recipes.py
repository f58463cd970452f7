"""Every recipe's network has the published number of parameters and names, and loads a file that has them."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from vtr_core.backbones.davenet import Davenet
from vtr_core.backbones.davenet import load as load_davenet
from vtr_core.backbones.howto import (
    RESNET_152,
    RESNEXT_101_3D,
    RESNEXT_101_32X4D,
    WINDOW,
    ResNet,
    ResNetShape,
    WindowExtractor,
    network,
)
from vtr_core.backbones.imagenet_lite import classifier, load_tokens
from vtr_core.backbones.imagenet_lite import load as load_lite
from vtr_core.backbones.recipes import RECIPES, installed, recipe
from vtr_core.backbones.weights import load_state, read_state
from vtr_core.errors import CheckpointError, ConfigError
from vtr_core.extraction.features import Chosen
from vtr_core.nn.video_swin import VideoSwin

CLASSES = 2048 * 1000 + 1000
"""Parameters of ImageNet's last layer, which features leave out."""
SMALL = ResNetShape((1, 1, 1, 1), groups=4, inner=(8, 8, 8, 8), outer=(16, 16, 16, 24))
SMALL_3D = ResNetShape((1, 1, 1, 1), dimensions=3, groups=4, inner=(8, 8, 8, 8), outer=(16, 16, 16, 24))


def parameters(module: nn.Module) -> int:
    return sum(values.numel() for values in module.parameters())


def meta(shape: ResNetShape) -> ResNet:
    with torch.device("meta"):
        return ResNet(shape)


def bottleneck(before: int, inner: int, outer: int, taps: int, groups: int, shortcut: bool) -> int:
    """Its parameters, written out: three convolutions, their norms, and the shortcut's."""
    convolutions = before * inner + inner * inner // groups * taps + inner * outer
    return convolutions + 4 * inner + 2 * outer + (before * outer + 2 * outer if shortcut else 0)


def test_parameters_are_as_many_as_published() -> None:
    """torchvision's and timm's counts with classes: 60,192,808 of ResNet-152, 44,177,704 of ResNeXt-101 32x4d."""
    assert parameters(meta(RESNET_152)) == 60_192_808 - CLASSES
    assert parameters(meta(RESNEXT_101_32X4D)) == 44_177_704 - CLASSES
    assert parameters(classifier(None)) == 4_652_008
    total, before = 3 * 64 * 7**3 + 128, 64
    for blocks, inner, outer in zip((3, 4, 23, 3), (128, 256, 512, 1024), (256, 512, 1024, 2048), strict=True):
        total += bottleneck(before, inner, outer, 27, 32, True)
        total += (blocks - 1) * bottleneck(outer, inner, outer, 27, 32, False)
        before = outer
    assert parameters(meta(RESNEXT_101_3D)) == total
    widths = ((128, 128), (128, 256), (256, 512), (512, 1024))
    stages = sum(9 * b * w + 3 * 9 * w * w + b * w + 10 * w for b, w in widths)
    assert parameters(Davenet()) == stages + 40 * 128 + 2 * 128 + 2
    with torch.device("meta"):
        assert parameters(VideoSwin()) == swin_parameters()


def swin_parameters() -> int:
    """Those of Video Swin-B without its classes, written out."""
    total = 3 * 2 * 4 * 4 * 128 + 128 + 2 * 128 + 2 * 1024
    for width, depth, heads in zip((128, 256, 512, 1024), (2, 2, 18, 2), (4, 8, 16, 32), strict=True):
        attention = 4 * width * width + 4 * width + 15 * 13 * 13 * heads
        total += depth * (attention + 8 * width * width + 5 * width + 4 * width)
        total += 0 if width == 1024 else 8 * width * width + 8 * width
    return total


def test_names_are_the_published_ones() -> None:
    names = meta(RESNEXT_101_3D).state_dict()
    for name in ("conv1.weight", "bn1.running_mean", "layer1.0.downsample.1.bias", "layer3.22.conv2.weight"):
        assert name in names
    assert names["layer2.0.conv2.weight"].shape == (256, 8, 3, 3, 3)
    assert {"batchnorm1.weight", "conv1.weight", "layer4.1.conv2.weight"} <= Davenet().state_dict().keys()


@pytest.mark.parametrize("how", ["plain", "module", "state_dict", "safetensors", "with classes"])
def test_a_file_of_weights_fills_the_network(how: str, tmp_path: Path) -> None:
    made = ResNet(SMALL)
    state = dict(made.state_dict())
    file = tmp_path / ("w.safetensors" if how == "safetensors" else "w.pth")
    match how:
        case "safetensors":
            save_file(state, file)
        case "module":
            torch.save({f"module.{name}": value for name, value in state.items()}, file)
        case "state_dict":
            torch.save({"epoch": 3, "state_dict": state}, file)
        case "with classes":
            torch.save({**state, "fc.weight": torch.zeros(10, 24), "fc.bias": torch.zeros(10)}, file)
        case _:
            torch.save(state, file)
    read = network(SMALL, str(file))
    assert all(torch.equal(value, read.state_dict()[name]) for name, value in state.items())
    assert not read.training


def test_a_file_of_another_network_is_named(tmp_path: Path) -> None:
    state = dict(ResNet(SMALL).state_dict())
    with pytest.raises(CheckpointError, match=r"w is of another network: it lacks conv1\.weight"):
        load_state(ResNet(SMALL), {name: v for name, v in state.items() if name != "conv1.weight"}, "w")
    with pytest.raises(CheckpointError, match=r"other shapes of conv1\.weight"):
        load_state(ResNet(SMALL_3D), state, "w")
    with pytest.raises(CheckpointError, match="unknown layer5"):
        load_state(ResNet(SMALL), {**state, "layer5.bias": torch.zeros(1)}, "w")
    (tmp_path / "w.pth").write_bytes(b"no weights")
    with pytest.raises(CheckpointError, match=r"is not a file of weights \(no pickle of tensors alone\); give"):
        read_state(tmp_path / "w.pth")
    (tmp_path / "w.pth").write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"is not a file of weights \(it is empty, or cut off\); give"):
        read_state(tmp_path / "w.pth")
    torch.save([1, 2], tmp_path / "l.pth")
    with pytest.raises(CheckpointError, match="holds no tensors by name"):
        read_state(tmp_path / "l.pth")


class _Harmful:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, ("harm",)


def test_a_pickle_in_a_file_of_weights_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"conv1.weight": _Harmful()}, "w.pth")
    with pytest.raises(CheckpointError):
        read_state("w.pth")
    assert not Path("harm").exists()


def test_windows_of_sixteen_frames_the_last_one_filled_with_black() -> None:
    seen = WindowExtractor(network(SMALL_3D, None), "cpu")
    frames = np.random.default_rng(0).integers(0, 256, (WINDOW + 3, 32, 32, 3), np.uint8)
    rows = seen(frames)
    assert rows.shape == (2, 24)
    black = np.concatenate([frames[WINDOW:], np.zeros((WINDOW - 3, 32, 32, 3), np.uint8)])
    assert rows == pytest.approx(np.concatenate([seen(frames[:WINDOW]), seen(black)]), rel=1e-5, abs=1e-6)


def test_davenet_of_a_checkpoint_of_all_of_avlnet(tmp_path: Path) -> None:
    state = {f"module.DAVEnet.{name}": value for name, value in Davenet().state_dict().items()}
    torch.save({**state, "module.GU_audio.fc.weight": torch.zeros(2, 2)}, tmp_path / "avlnet.pth")
    hear = load_davenet(str(tmp_path / "avlnet.pth"), "cpu")
    sound = np.random.default_rng(0).normal(0, 0.1, 16_000).astype(np.float32)
    assert hear(sound).shape == (6, 1024)
    assert hear(sound[:100]).shape == (0, 1024)


def test_batch_normalisation_in_the_convolutions_changes_nothing() -> None:
    torch.manual_seed(0)
    weights = installed(recipe("imagenet-lite"))
    assert weights is not None
    pictures = np.random.default_rng(0).integers(0, 256, (2, 224, 224, 3), np.uint8)
    plain = classifier(str(weights))
    values = (torch.from_numpy(pictures).permute(0, 3, 1, 2).float() - 127) / 128
    with torch.inference_mode():
        expected = plain.extract_features(values).mean(dim=(2, 3)).numpy()
    assert load_lite(str(weights), "cpu")(pictures) == pytest.approx(expected, abs=1e-4)


def test_tokens_are_the_mean_and_the_places_row_by_row() -> None:
    weights = str(installed(recipe("imagenet-lite")))
    pictures = np.random.default_rng(0).integers(0, 256, (2, 224, 224, 3), np.uint8)
    values = (torch.from_numpy(pictures).permute(0, 3, 1, 2).float() - 127) / 128
    with torch.inference_mode():
        places = classifier(weights).extract_features(values).numpy()
    tokens = load_tokens(weights, "cpu")(pictures)
    assert tokens.shape == (2, recipe("imagenet-lite-tokens").dim)
    cells = tokens.reshape(2, 50, 1280)
    assert cells[:, 0] == pytest.approx(places.mean(axis=(2, 3)), abs=1e-4)
    assert cells[:, 1 + 7 * 2 + 5] == pytest.approx(places[:, :, 2, 5], abs=1e-3)


def test_recipes_have_names_and_fingerprints_of_their_own() -> None:
    names = [one.name for one in RECIPES]
    assert len(set(names)) == len(names)
    assert all(one.feature.isidentifier() for one in RECIPES)
    howto = recipe("howto-2d")
    chosen = [*(Chosen(each, None, None) for each in RECIPES), Chosen(howto, None, "other weights")]
    assert len({choice.settings()["fingerprint"] for choice in chosen}) == len(RECIPES) + 1
    with pytest.raises(ConfigError, match="there is no recipe 'none'; recipes: imagenet-lite, log-mel"):
        recipe("none")
