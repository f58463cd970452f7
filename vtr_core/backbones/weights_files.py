"""Where the weights of a recipe are, and their hash; without torch, which decoders do not need.

Their start is a part of every extraction, and importing torch was the longest part of it.
"""

import hashlib
import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from vtr_core.backbones.recipe import Recipe
from vtr_core.errors import CheckpointError, ConfigError

FOLDER = "VTR_WEIGHTS"
"""Environment variable: a folder with files of weights, in whatever folders below it."""


def weights_file(recipe: Recipe, files: Mapping[str, str]) -> Path | None:
    """The file of `recipe`'s weights: the given one, else that of its package or below the folder `FOLDER` names; None
    for recipes without weights.

    Raises ConfigError with the source of the weights where the file is missing, CheckpointError where the file of that
    name is not the published one.
    """
    if recipe.weights is None:
        return None
    file = files.get(recipe.name)
    if file is not None:
        if not Path(file).is_file():
            raise ConfigError(f"there is no file {file} with the weights of {recipe.name}")
        return Path(file)
    path = installed(recipe)
    if path is None:
        raise ConfigError(
            f"the weights of {recipe.name} are not here: get {recipe.weights.file} ({recipe.weights.where}) and give "
            f"--weights {recipe.name} FILE, or put it into a folder that {FOLDER} names"
        )
    if recipe.weights.sha256 is not None and not file_sha256(path).startswith(recipe.weights.sha256):
        raise CheckpointError(
            f"{path} is not the published {recipe.weights.file}: its sha256 does not begin with "
            f"{recipe.weights.sha256[:8]}; get it again ({recipe.weights.where})"
        )
    return path


def installed(recipe: Recipe) -> Path | None:
    """The file in the recipe's package, or below the folder that `FOLDER` names; None where it is in neither."""
    if recipe.weights is None:
        return None
    return next(iter(places_of(recipe.weights.file, recipe.weights.package)), None)


def places_of(file: str, package: str | None) -> list[Path]:
    """Where a file of this name lies: in an installed package, of which nothing is imported, and below `FOLDER`."""
    spec = None if package is None else find_spec(package)
    folder = os.environ.get(FOLDER)
    roots = [Path(spec.origin).parent] if spec is not None and spec.origin is not None else []
    return [
        path for root in [*roots, *([Path(folder).expanduser()] if folder else [])] for path in sorted(root.rglob(file))
    ]


def file_sha256(file: Path) -> str:
    """The sha256 of a file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
