"""`vtr extract --list`: what every recipe is, and whether its weights are on this machine."""

from vtr_core.backbones.recipe import Recipe
from vtr_core.backbones.recipes import RECIPES
from vtr_core.backbones.weights import packaged


def print_recipes() -> None:
    """Print all of them."""
    print("\n\n".join(described(one) for one in RECIPES))


def described(recipe: Recipe) -> str:
    """A recipe in some lines."""
    rate = "rows of whole videos" if recipe.rows_per_second is None else f"{recipe.rows_per_second:g} rows a second"
    lines = [
        f"{recipe.name}: {recipe.modality}, {recipe.dim} values, {rate}",
        f"  network  {recipe.network}",
        f"  follows  {recipe.follows}",
    ]
    if recipe.weights is None:
        return "\n".join([*lines, "  weights  none needed"])
    known = f"sha256 {recipe.weights.sha256}…" if recipe.weights.sha256 else "its publishers give no hash"
    found = packaged(recipe)
    here = f"here: {found}" if found else f"not here; give --weights {recipe.name} FILE"
    return "\n".join(
        [
            *lines,
            f"  weights  {recipe.weights.file} ({known}), {recipe.weights.licence}; {recipe.weights.where}",
            f"           {here}",
        ]
    )
