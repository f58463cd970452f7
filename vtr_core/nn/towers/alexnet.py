"""AlexNet for images of any size."""

from jaxtyping import Float
from torch import Tensor, nn

from vtr_core.nn.fan_in import fan_in_convolution_2d, fan_in_linear

POOLED = 6


class AlexNet(nn.Module):
    """Five convolutions, three of them with max-pooling, adaptive average pooling to 6 × 6, and two linear layers.

    Krizhevsky et al. 2012, in the one-column version of Krizhevsky 2014. Greyscale images have one input channel.
    Raises ValueError for images that are too small for the pooling.
    """

    def __init__(self, channels: int, grid: tuple[int, int], hidden_dim: int, dropout: float) -> None:
        super().__init__()
        if min(grid) < 32:
            raise ValueError(f"images of {grid[0]} × {grid[1]} are too small for AlexNet; it takes 32 × 32 or more")
        self.dim = hidden_dim
        self.layers = nn.Sequential(
            fan_in_convolution_2d(channels, 64, 11, 4, 2),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
            fan_in_convolution_2d(64, 192, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
            fan_in_convolution_2d(192, 384, 3, padding=1),
            nn.ReLU(),
            fan_in_convolution_2d(384, 256, 3, padding=1),
            nn.ReLU(),
            fan_in_convolution_2d(256, 256, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
            nn.AdaptiveAvgPool2d(POOLED),
            nn.Flatten(),
            nn.Dropout(dropout),
            fan_in_linear(256 * POOLED * POOLED, hidden_dim),
            nn.ReLU(),
            nn.Dropout(dropout),
            fan_in_linear(hidden_dim, hidden_dim),
            nn.ReLU(),
        )

    def forward(self, images: Float[Tensor, "batch channels rows columns"]) -> Float[Tensor, "batch dim"]:
        """The last hidden layer."""
        features: Tensor = self.layers(images)
        return features
