"""Trained models given to others: a folder in the hub's layout, with a model card."""

import hashlib
import html
import json
import re
from collections.abc import Mapping
from typing import Any

import safetensors.torch

from vtr_core import storage
from vtr_core.backbones.recipes import RECIPES
from vtr_core.errors import ConfigError, command_line
from vtr_core.fingerprint import short
from vtr_core.storage import Location
from vtr_core.train.checkpoint.checkpoint_files import CONCEPTS, MARKER, VERSION, CheckpointReader
from vtr_core.train.checkpoint.trained_model import LoadedModel


def model_card(loaded: LoadedModel, licence: str | None) -> str:
    """The card in Markdown; licence: of the weights, as the hub names licences, such as apache-2.0."""
    fields = {
        "license": licence or "unknown",
        "library_name": "vtr-ray",
        "tags": ["video-retrieval", "video-text-retrieval", loaded.config.model.kind],
    }
    parts = [
        "\n".join(["---", *(f"{name}: {json.dumps(value)}" for name, value in fields.items()), "---"]),
        f"# {_safe(loaded.config.preset)}",
        _about(loaded),
        "## Data",
        _data(loaded),
        "## Figures",
        _validated(loaded),
        "## Use",
        _use(loaded),
        "## Licences",
        _licences(loaded, licence),
    ]
    return "\n\n".join(parts) + "\n"


def _about(loaded: LoadedModel) -> str:
    config, records = loaded.config, loaded.config.model.system().records(loaded.config.model)
    count = sum(parameter.numel() for parameter in loaded.model.parameters())
    features = ", ".join(f"`{name}` ({dim} values)" for name, dim in config.model.inputs.features.items())
    sentences = [
        f"A `{config.model.kind}` of the preset `{config.preset}`, after {loaded.progress.step:,} steps.",
        f"It has {count:,} parameters and reads {records}{f' with the features {features}' if features else ''}.",
    ]
    if len(loaded.vocabulary):
        concepts = f" and {len(loaded.concepts):,} concepts" if loaded.concepts else ""
        sentences.append(f"It knows {len(loaded.vocabulary):,} words{concepts}.")
    return " ".join(sentences)


def _data(loaded: LoadedModel) -> str:
    lines = ["The training data are not described; ask who published this."]
    print_of = loaded.provenance.get("data.fingerprint")
    if isinstance(print_of, str):
        lines.append(f"Their fingerprint is `{short(print_of)}`.")
    for recipe in _recipes(loaded):
        lines.append(f"Features: recipe `{_safe(recipe)}` of `vtr extract`.")
    return "\n".join(lines)


def _validated(loaded: LoadedModel) -> str:
    value, metric = loaded.progress.value, loaded.config.training.metric
    if value is None:
        return "None were measured when this was exported."
    return f"`{metric}` was {value:.4g} on the validation data of its training; no test data were measured."


def _use(loaded: LoadedModel) -> str:
    model, system = loaded.config.model, loaded.config.model.system()
    if system.implementation().retrieval is None:
        example = command_line("evaluate", "FOLDER", "--task", system.evaluation, "--data", "URI")
        return f"It has no vectors of texts; there are {system.used_by}, with this folder for the model: `{example}`."
    feature, reads = next(iter(model.inputs.features), "video"), system.records(model)
    shape = "(frames, values)" if reads == "videos" else "(values,)"
    return "\n".join(
        [
            "```python",
            "import vtr_core",
            "",
            'model = vtr_core.load("FOLDER")  # this folder',
            'texts = model.encode_text(["a dog runs"])',
            f'videos = model.encode_video({{"{feature}": [...]}})  # an array {shape} for each',
            "model.similarity(texts, videos)",
            "```",
            "",
            "Every command of `vtr` that takes a checkpoint takes this folder, such as",
            "`vtr index FOLDER --data URI --out URI`.",
        ]
    )


def _licences(loaded: LoadedModel, licence: str | None) -> str:
    lines = [f"- weights: {_safe(licence or 'not stated; ask before you use them')}"]
    known = {recipe.name: recipe.weights for recipe in RECIPES}
    for name in _recipes(loaded):
        weights = known.get(name)
        if weights is not None:
            lines.append(f"- weights of the features' network, `{name}`: {weights.licence}")
    return "\n".join(lines)


def _recipes(loaded: LoadedModel) -> list[str]:
    made = loaded.provenance.get("extraction")
    recipes = made.get("recipes", []) if isinstance(made, Mapping) else []
    return [str(recipe["name"]) for recipe in recipes if isinstance(recipe, Mapping) and "name" in recipe]


def _safe(text: str) -> str:
    """Text from elsewhere as text: neither HTML nor Markdown's links and emphasis."""
    return "".join(f"\\{char}" if char in "\\`*_[]|<>" else char for char in html.escape(text, quote=False))


CARD = "README.md"
_PUBLIC = ("version.", "git.commit", "data.fingerprint", "extraction")
"""Beginnings of the names in a checkpoint's provenance that say nothing of the machine, its paths or its services."""


def public_provenance(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """What of a checkpoint's provenance may be published."""
    return {name: without_places(value) for name, value in provenance.items() if name.startswith(_PUBLIC)}


_PLACE = re.compile(r"((?:[A-Za-z_]\w*:)*?)(?:[A-Za-z][A-Za-z0-9+.-]*://|[/~]|\.{1,2}/)\S.*")


def without_places(value: Any) -> Any:
    """JSON in which paths of this machine and URIs are cut to their last part, behind the kind of an encoder.

    `hf:/home/me/models/clip` becomes `hf:clip`: a stranger needs to know which encoder it was, not where it lay.
    """
    match value:
        case dict():
            return {name: without_places(inner) for name, inner in value.items()}
        case list():
            return [without_places(inner) for inner in value]
        case str() if (place := _PLACE.fullmatch(value)) is not None:
            return place[1] + value.partition("?")[0].rstrip("/").rpartition("/")[2]
        case _:
            return value


def export_model(checkpoint: Location, folder: Location, card: str) -> None:
    """Write the model of `checkpoint` and its `card` to the new `folder`, the list of files last.

    Places in its configuration are cut to their last part, see `without_places`.
    Raises ConfigError where the folder holds anything, CheckpointError where the checkpoint is damaged.
    """
    if storage.exists(folder) and next(storage.children(folder), None) is not None:
        raise ConfigError(f"{folder} is not empty; export to a new folder")
    reader = CheckpointReader(checkpoint)
    names = ["config.json", "vocabulary.json", "progress.json"]
    files = {name: reader.read(name) for name in (names if reader.concepts() is None else [*names, CONCEPTS])}
    files["model.safetensors"] = safetensors.torch.save(reader.weights(), metadata={"format": "pt"})
    files["config.json"] = _json(without_places(json.loads(files["config.json"])))
    files["provenance.json"] = _json(public_provenance(reader.provenance()))
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    marker = _json({"version": VERSION, "files": hashes})
    for name, content in {**files, CARD: card.encode(), MARKER: marker}.items():
        storage.write_bytes(folder / name, content)


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()
