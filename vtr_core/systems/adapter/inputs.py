"""The encoder that made a data set's features, as the adapter trained on them names it."""

from typing import Any

from vtr_core.config.model_inputs import ModelInputs
from vtr_core.data.manifest import Manifest
from vtr_core.data.records.required_kind import require_clips
from vtr_core.encoders.encoder import BUNDLED, Encoder, encoder, is_encoder
from vtr_core.encoders.frozen_text import encoder_record
from vtr_core.errors import DatasetError
from vtr_core.text.tokens.vocabulary import TEXT_BYTES


def adapter_inputs(manifest: Manifest) -> dict[str, Any]:
    """`model.inputs` and `model.encoder`; DatasetError for features of no encoder."""
    made_by = made_with(manifest)
    features = {
        one.name: one.dim for one in require_clips(manifest.schema, manifest.uri).features if one.name == "video"
    }
    inputs = ModelInputs(features=features, num_words=256, max_words=TEXT_BYTES)
    return {"model.inputs": inputs.model_dump(), "model.encoder": encoder_record(made_by).model_dump()}


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
