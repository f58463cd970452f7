"""What encoders there are: the sources, the recipes of features, and the models in the Hugging Face cache.

Nothing is loaded, and nothing is asked of the hub.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from vtr_core.backbones.recipes import RECIPES
from vtr_core.backbones.weights_files import installed
from vtr_core.encoders.encoder import BUNDLED, SOURCES, Source
from vtr_core.json_text import parse_json

Kind = Literal["source", "recipe", "cached model"]


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
    """The sources, the recipes, and the cached models, in this order."""
    return [*map(_source, SOURCES), *_recipes(), *cached_models()]


def cached_models() -> list[Listed]:
    """The models of the Hugging Face cache that have safetensors and are of a source, by name."""
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        repositories = scan_cache_dir().repos
    except CacheNotFound:
        return []
    models = [
        listed
        for repository in repositories
        if repository.repo_type == "model"
        for revision in repository.revisions
        if "main" in revision.refs
        for listed in _cached(repository.repo_id, Path(revision.snapshot_path))
    ]
    return sorted(models, key=lambda model: model.name)


def _source(source: Source) -> Listed:
    if source.prefix == BUNDLED:
        from vtr_core.encoders.bundled import LITE0, MINILM

        here = LITE0.is_here() and MINILM.is_here()
        return Listed(BUNDLED, "source", source.description, 384, source.encodes, source.needs, here)
    text = f"{source.description}; for instance {source.example}"
    here = find_spec(source.module) is not None
    return Listed(source.pattern, "source", text, None, source.encodes, source.needs, here)


def _recipes() -> Iterator[Listed]:
    for recipe in RECIPES:
        encodes = "frames" if recipe.modality == "video" else "sound"
        weights = recipe.weights
        needs = "nothing" if weights is None else f"{weights.file} ({weights.where})"
        here = weights is None or installed(recipe) is not None
        yield Listed(recipe.name, "recipe", recipe.network, recipe.dim, encodes, needs, here)


def _cached(repository: str, folder: Path) -> Iterator[Listed]:
    """The encoders that a cached repository is: a model of sentence-transformers, of transformers, or of neither."""
    if not any(folder.rglob("*.safetensors")):
        return
    config = _json(folder / "config.json")
    architecture = (config.get("architectures") or [str(config.get("model_type", "model"))])[0]
    if (folder / "modules.json").is_file():
        pooling = _json(folder / "1_Pooling" / "config.json")
        dim = pooling.get("embedding_dimension", pooling.get("word_embedding_dimension", config.get("hidden_size")))
        yield _of(f"st:{repository}", architecture, dim, "text, and frames where it is multimodal")
    if "text_config" in config and ("vision_config" in config or "video_config" in config):
        text = config["text_config"] if isinstance(config["text_config"], dict) else {}
        dim = config.get("projection_dim", text.get("projection_size", text.get("hidden_size")))
        yield _of(f"hf:{repository}", architecture, dim, "text and frames")


def _of(name: str, architecture: str, dim: Any, encodes: str) -> Listed:
    known = dim if isinstance(dim, int) else None
    return Listed(name, "cached model", architecture, known, encodes, "nothing", here=True)


def _json(file: Path) -> dict[str, Any]:
    """The object of a JSON file; an empty one for a file that is missing or damaged, which loading tells."""
    try:
        value = parse_json(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def as_text(listed: list[Listed]) -> str:
    """A paragraph for each kind that is listed."""
    titles: dict[Kind, str] = {
        "source": "encoders:",
        "recipe": "recipes of features, without text:",
        "cached model": "in the Hugging Face cache:",
    }
    parts = {kind: [line for entry in listed if entry.kind == kind for line in _lines(entry)] for kind in titles}
    return "\n\n".join("\n".join([titles[kind], *lines]) for kind, lines in parts.items() if lines)


def _lines(entry: Listed) -> list[str]:
    dim = "as its model" if entry.dim is None else f"{entry.dim}-d"
    lines = [f"  {entry.name}  ({dim}; {entry.encodes})", f"      {entry.what}"]
    if entry.kind == "cached model":
        return lines
    part = "its package is " if entry.dim is None else ""
    return [*lines, f"      needs {entry.needs}: {part}{'here' if entry.here else 'not here'}"]
