"""LeNet-5 for images of any size."""

from jaxtyping import Float
from torch import Tensor, nn

from vtr_core.nn.fan_in import fan_in_convolution_2d, fan_in_linear

KERNEL = 5


class LeNet(nn.Module):
    """5 × 5 convolutions to 6 and 16 channels, each with ReLU and 2 × 2 max-pooling; linear layers of 120 and 84 units.

    LeCun et al. 1998, with ReLU instead of tanh and max- instead of average pooling, as it is used today.
    """

    dim = 84

    def __init__(self, channels: int, grid: tuple[int, int], dropout: float) -> None:
        super().__init__()
        places = [((side - KERNEL + 1) // 2 - KERNEL + 1) // 2 for side in grid]
        if min(places) < 1:
            raise ValueError(f"images of {grid[0]} × {grid[1]} are too small for LeNet; it takes 16 × 16 or more")
        self.layers = nn.Sequential(
            fan_in_convolution_2d(channels, 6, KERNEL),
            nn.ReLU(),
            nn.MaxPool2d(2),
            fan_in_convolution_2d(6, 16, KERNEL),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Dropout(dropout),
            fan_in_linear(16 * places[0] * places[1], 120),
            nn.ReLU(),
            nn.Dropout(dropout),
            fan_in_linear(120, self.dim),
            nn.ReLU(),
        )

    def forward(self, images: Float[Tensor, "batch channels rows columns"]) -> Float[Tensor, "batch dim"]:
        """The last hidden layer."""
        features: Tensor = self.layers(images)
        return features
