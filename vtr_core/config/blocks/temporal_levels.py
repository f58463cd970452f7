"""Multi-level sequence encoding: mean pooling, a recurrent network, and convolutions over its outputs."""

from typing import Annotated

from pydantic import Field

from vtr_core.config.settings import PositiveInt, Settings

KernelSizes = Annotated[tuple[PositiveInt, ...], Field(min_length=1)]


class TemporalLevelsConfig(Settings):
    """Levels 2 and 3 of a sequence: a bidirectional GRU, and convolutions over its outputs."""

    hidden_dim: PositiveInt = 512
    """Units of the GRU in each direction."""
    num_filters: PositiveInt = 512
    """Filters of each convolution."""
    kernel_sizes: KernelSizes = (2, 3, 4, 5)
    """Kernel widths, one convolution each."""
