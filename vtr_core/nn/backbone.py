"""Networks that may begin with pretrained weights and are trained with the model."""

from typing import Literal

from torch import nn


class Backbone(nn.Module):
    """A network whose layers can have learning rates of their own (`optimizer.layer_decay`) and can be frozen."""

    def layers_by_depth(self) -> list[list[nn.Parameter]]:
        """Its parameters by depth, embeddings of the input first."""
        raise NotImplementedError

    def freeze_layers(self, freeze: int | Literal["all"]) -> None:
        """Do not train the first `freeze` layers and the embeddings below them; 0: train everything, all: nothing."""
        layers = self.layers_by_depth()
        count = len(layers) if freeze == "all" else freeze + 1 if freeze else 0
        for parameter in (parameter for layer in layers[:count] for parameter in layer):
            parameter.requires_grad_(False)
