"""The tower that a configuration names."""

from typing import assert_never

from vtr_core.config.blocks.towers import (
    AlexNetTower,
    CapsuleTower,
    InceptionTower,
    LeNetTower,
    ResNetTower,
    TowerConfig,
)
from vtr_core.nn.towers.alexnet import AlexNet
from vtr_core.nn.towers.capsules import CapsuleFaces
from vtr_core.nn.towers.inception import InceptionV3
from vtr_core.nn.towers.lenet import LeNet
from vtr_core.nn.towers.resnet import ResNet34

Tower = CapsuleFaces | LeNet | AlexNet | ResNet34 | InceptionV3


def build_tower(config: TowerConfig, channels: int, grid: tuple[int, int]) -> Tower:
    """A module from images to features of its `dim`; ValueError for images that are too small for it."""
    match config:
        case CapsuleTower():
            return CapsuleFaces(config, channels, grid)
        case LeNetTower():
            return LeNet(channels, grid, config.dropout)
        case AlexNetTower():
            return AlexNet(channels, grid, config.hidden_dim, config.dropout)
        case ResNetTower():
            return ResNet34(channels, config.dropout)
        case InceptionTower():
            return InceptionV3(channels, config.dropout)
        case _:
            assert_never(config)
