"""The encoder that made a data set's features, as the adapter trained on them names it."""

from collections.abc import Mapping
from typing import Any

from vtr_core.backbones.recipes import RECIPES
from vtr_core.config.blocks.text_encoder import EncoderRecord
from vtr_core.config.model_inputs import ModelInputs
from vtr_core.data.manifest import Manifest
from vtr_core.data.records.required_kind import require_clips
from vtr_core.encoders.encoder import BUNDLED, Encoder, encoder, is_encoder
from vtr_core.encoders.frozen_text import encoder_record
from vtr_core.errors import DatasetError
from vtr_core.extraction.chosen import choose
from vtr_core.text.tokens.vocabulary import TEXT_BYTES


def adapter_inputs(manifest: Manifest) -> dict[str, Any]:
    """`model.inputs` and `model.encoder`; DatasetError for features of no encoder."""
    made_by = made_with(manifest)
    features = {
        one.name: one.dim for one in require_clips(manifest.schema, manifest.uri).features if one.name == "video"
    }
    inputs = ModelInputs(features=features, num_words=256, max_words=TEXT_BYTES)
    return {"model.inputs": inputs.model_dump(), "model.encoder": encoder_record(made_by).model_dump()}


def check_made_with(manifest: Manifest, record: EncoderRecord) -> None:
    """DatasetError unless a data set's pictures are the rows of this encoder, pooled by their mean and of their length.

    The mean may be followed by the deviation. An encoder's head takes the mean as it is: of one brought to length 1 it
    would see other classes, and say so nowhere.
    """
    source = manifest.source
    given = source.get("recipes")
    seen = [one for one in (given if isinstance(given, list) else []) if one.get("name") not in _SOUND]
    remedy = f"extract them with vtr extract VIDEOS --recipe {record.name} --no-normalise --captions TABLE --out FOLDER"
    if len(seen) != 1 or _identity(seen[0]) not in _identities(record.name):
        names = ", ".join(str(one.get("name")) for one in seen) or "no recipe that the data set names"
        raise DatasetError(f"{manifest.uri} has features of {names}, not those of the encoder {record.name}; {remedy}")
    if source.get("normalise") or source.get("pool") not in ("mean", "mean_std"):
        pooling = f"pooled by {source.get('pool')}{', brought to length 1' if source.get('normalise') else ''}"
        raise DatasetError(
            f"{manifest.uri} has features {pooling}, the encoder {record.name} takes their plain mean; {remedy}"
        )


_SOUND = tuple(one.name for one in RECIPES if one.modality == "audio")


def _identities(name: str) -> set[tuple[object, ...]]:
    """The recipes whose rows are those of an encoder: its own, and for the bundled one EfficientNet-Lite0's."""
    own = encoder(name).recipe
    recipes = [] if own is None else [own.name]
    if name == BUNDLED:
        recipes.append("imagenet-lite")
    return {_identity(choose([one], {})[0].settings()) for one in recipes}


def _identity(recipe: Mapping[str, Any]) -> tuple[object, ...]:
    """What tells features apart, beside the decoder, whose pixels hardly differ."""
    return tuple(recipe.get(name) for name in ("name", "revision", "weights"))


def made_with(manifest: Manifest) -> Encoder:
    """The encoder whose rows a data set's features are, by the recipe that its manifest names."""
    recipes = manifest.source.get("recipes")
    for one in recipes if isinstance(recipes, list) else []:
        name = one.get("name", "")
        found = encoder(BUNDLED) if name == "imagenet-lite" else encoder(name) if is_encoder(name) else None
        if found is not None:
            return found
    raise DatasetError(
        f"{manifest.uri} has no features of a pretrained encoder, on which an adapter is trained; make them with "
        f"vtr extract VIDEOS --recipe {BUNDLED} --captions TABLE --out FOLDER"
    )
