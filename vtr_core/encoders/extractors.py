"""The papers' extractors of frames as encoders without a text side: `imagenet-lite`, `howto-2d`, `video-swin`, …"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float32, UInt8

from vtr_core.backbones.recipe import Recipe
from vtr_core.backbones.recipes import recipe
from vtr_core.backbones.weights_files import file_sha256, weights_file
from vtr_core.encoders.encoder import Encoder, UnitHead
from vtr_core.errors import ConfigError
from vtr_core.fingerprint import fingerprint
from vtr_core.video.streams import Uniform


class RecipeEncoder(Encoder):
    """A recipe's network on frames. Its rows are features, not in a space of texts; vectors are their directions."""

    recipe: Recipe

    def __init__(self, name: str, device: str) -> None:
        self.name, self.recipe = name, recipe(name)
        if self.recipe.modality != "video":
            raise ConfigError(
                f"{name} is a recipe of sound, and takes no frames; vtr extract --recipe {name} extracts it"
            )
        self.dim = self.recipe.dim
        file = weights_file(self.recipe, {})
        self.fingerprint = fingerprint(self.recipe.settings(None if file is None else file_sha256(file)))
        self._rows = self.recipe.load(None if file is None else str(file), device)

    def encode_text(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts dim"]:
        """ConfigError: there is no text side."""
        raise ConfigError(
            f"{self.name} encodes frames alone, and no text ({len(texts)} given); vtr encoders lists those with a text "
            "side, such as bundled"
        )

    def encode_rows(self, frames: UInt8[np.ndarray, "frames height width 3"]) -> Float32[np.ndarray, "rows dim"]:
        """The recipe's features of frames of its size, a row each or one for each of its windows."""
        rate = getattr(self.recipe.stream, "rate", None)
        if isinstance(rate, Uniform) and len(frames) != rate.count:
            raise ConfigError(f"{self.name} takes {rate.count} frames in equal steps of a video, not {len(frames)}")
        return np.asarray(self._rows(frames), np.float32)

    def head(self) -> UnitHead:
        """The direction of the mean feature."""
        return UnitHead()
