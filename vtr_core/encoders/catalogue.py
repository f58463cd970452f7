"""What encoders there are: the sources, and the recipes of features, the papers' extractors among them.

Nothing is loaded, and nothing is asked of the hub.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

import numpy as np
from jaxtyping import Float32, UInt8

from vtr_core.backbones.recipes import RECIPES, Recipe, file_sha256, installed, recipe, weights_file
from vtr_core.encoders.encoder import BUNDLED, SOURCES, Encoder, Source, UnitHead
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


Kind = Literal["source", "recipe"]


@dataclass(frozen=True)
class Listed:
    """An encoder, or where encoders come from."""

    name: str
    kind: Kind
    what: str
    dim: int | None
    """Dimension of its vectors; None where it depends on the model."""
    encodes: str
    needs: str
    here: bool
    """Whether all that it needs is on this machine; of a source, whether its packages are."""


def catalogue() -> list[Listed]:
    """The sources, then the recipes."""
    return [*map(_source, SOURCES), *_recipes()]


def _source(source: Source) -> Listed:
    if source.prefix == BUNDLED:
        from vtr_core.encoders.bundled import LITE0, MINILM

        here = LITE0.is_here() and MINILM.is_here()
        return Listed(BUNDLED, "source", source.description, 384, source.encodes, source.needs, here)
    text = f"{source.description}; for instance {source.example}"
    here = find_spec(source.module) is not None
    return Listed(source.pattern, "source", text, None, source.encodes, source.needs, here)


def _recipes() -> Iterator[Listed]:
    for extractor in RECIPES:
        encodes = "frames" if extractor.modality == "video" else "sound"
        weights = extractor.weights
        needs = "nothing" if weights is None else f"{weights.file} ({weights.licence}; {weights.where})"
        here = weights is None or installed(extractor) is not None
        yield Listed(extractor.name, "recipe", extractor.network, extractor.dim, encodes, needs, here)


def as_text(listed: list[Listed]) -> str:
    """A paragraph for each kind that is listed."""
    titles: dict[Kind, str] = {
        "source": "encoders:",
        "recipe": "recipes of features, without text:",
    }
    parts = {kind: [line for entry in listed if entry.kind == kind for line in _lines(entry)] for kind in titles}
    return "\n\n".join("\n".join([titles[kind], *lines]) for kind, lines in parts.items() if lines)


def _lines(entry: Listed) -> list[str]:
    dim = "as its model" if entry.dim is None else f"{entry.dim}-d"
    lines = [f"  {entry.name}  ({dim}; {entry.encodes})", f"      {entry.what}"]
    part = "its package is " if entry.dim is None else ""
    return [*lines, f"      needs {entry.needs}: {part}{'here' if entry.here else 'not here'}"]
