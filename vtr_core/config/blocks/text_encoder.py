"""A pretrained encoder as configurations name it: by its source, and by what a checkpoint must find again."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from vtr_core.config.settings import NonNegativeInt, PositiveInt, Settings

UNKNOWN_FINGERPRINT = "0" * 64
"""Of an encoder that a preset names, and no run has read yet."""


class EncoderRecord(Settings):
    """A pretrained encoder as a checkpoint names it: enough to build its parts without its weights.

    All but the name is filled in when a run starts.
    """

    name: str = "bundled"
    """As `vtr_core.encoder` takes it."""
    fingerprint: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] = UNKNOWN_FINGERPRINT
    """sha256 of weights and preprocessing."""
    dim: PositiveInt = 384
    """Dimension of the joint space."""
    token_dim: PositiveInt | None = None
    """Dimension of a text token's vector; None where the encoder gives none."""
    feature_dim: NonNegativeInt = 0
    """Dimension of a stored row of frames; 0 for an encoder of text alone."""
    classes: NonNegativeInt = 0
    """Named concepts of its head; 0 where stored rows are vectors of the joint space."""


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


NamedEncoder = Annotated[EncoderRecord, BeforeValidator(_named)]
"""An encoder that is given by its name, such as `bundled`."""
TextEncoder = NamedEncoder | None
"""The pretrained encoder of a model's captions; None: none."""
