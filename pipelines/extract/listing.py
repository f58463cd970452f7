"""`vtr extract --list`: the encoders, descriptions of all recipes, and whether their weights are on this machine."""

from vtr_core.backbones.recipes import RECIPES, Recipe, installed
from vtr_core.video.streams import Picture, PictureStream, Rate, SoundStream, Stream, Uniform


def print_recipes() -> None:
    """Print the encoders as `vtr encoders` does, and the descriptions of all recipes."""
    from vtr_core.encoders.catalogue import as_text, catalogue

    print(as_text([entry for entry in catalogue() if entry.kind != "recipe"]))
    print("\nrecipes of features, without text:\n")
    print("\n\n".join(described(entry) for entry in RECIPES))


def _taken(stream: Stream) -> str:
    match stream:
        case SoundStream():
            return f"sound at {stream.sample_rate / 1000:g} kHz, one channel"
        case PictureStream(rate=Rate(per_second=rate)):
            how_many = f"{rate:g} frame{'' if rate == 1 else 's'} a second"
        case PictureStream(rate=Uniform(count=count)):
            how_many = f"{count} frames of a whole video, in equal steps"
    cut = stream.picture
    assert isinstance(cut, Picture)  # whole pictures are for display, not for networks
    return f"{how_many}, {cut.size} x {cut.size} from the middle of a short side of {cut.short_side}"


def described(recipe: Recipe) -> str:
    """The description of a recipe, in several lines."""
    rate = "rows of whole videos" if recipe.rows_per_second is None else f"{recipe.rows_per_second:g} rows a second"
    lines = [
        f"{recipe.name}: {recipe.modality}, {recipe.dim} values, {rate}",
        f"  takes    {_taken(recipe.stream)}",
        f"  network  {recipe.network}",
        f"  follows  {recipe.follows}",
    ]
    if recipe.weights is None:
        return "\n".join([*lines, "  weights  none needed"])
    known = f"sha256 {recipe.weights.sha256}…" if recipe.weights.sha256 else "its publishers give no hash"
    file = installed(recipe)
    here = f"here: {file}" if file else f"not here; give --weights {recipe.name} FILE"
    return "\n".join(
        [
            *lines,
            f"  weights  {recipe.weights.file} ({known}), {recipe.weights.licence}; {recipe.weights.where}",
            f"           {here}",
        ]
    )
