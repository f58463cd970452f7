"""Where the weights of a recipe are, and their hash; without torch, which decoders do not need.

Their start is a part of every extraction, and importing torch was the longest part of it.
"""

import hashlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from vtr_core.backbones.recipe import Recipe
from vtr_core.errors import ConfigError


def weights_file(recipe: Recipe, given: Mapping[str, str]) -> Path | None:
    """The file of `recipe`'s weights: the given one, else the one in its package; None for recipes without weights.

    Raises ConfigError with the source of the weights where the file is missing.
    """
    if recipe.weights is None:
        return None
    named = given.get(recipe.name)
    if named is not None:
        if not Path(named).is_file():
            raise ConfigError(f"there is no file {named} with the weights of {recipe.name}")
        return Path(named)
    found = packaged(recipe)
    if found is None:
        raise ConfigError(
            f"the weights of {recipe.name} are not here: get {recipe.weights.file} ({recipe.weights.where}) and give "
            f"--weights {recipe.name} FILE"
        )
    return found


def packaged(recipe: Recipe) -> Path | None:
    """The file in the recipe's package; None where the package is not installed."""
    if recipe.weights is None or recipe.weights.package is None:
        return None
    spec = find_spec(recipe.weights.package)
    if spec is None or spec.origin is None:
        return None
    return next(Path(spec.origin).parent.rglob(recipe.weights.file), None)


def file_sha256(file: Path) -> str:
    """The sha256 of a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
