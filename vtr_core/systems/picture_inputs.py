"""What a model of frames takes from its training data: the vocabulary and the size of the frames."""

from typing import TYPE_CHECKING, Any

from vtr_core.config.model_inputs import ModelInputs
from vtr_core.errors import DatasetError

if TYPE_CHECKING:
    from vtr_core.data.manifest import Manifest


def picture_inputs(manifest: "Manifest", model: object = None) -> dict[str, Any]:  # noqa: ARG001  as `System.inputs`
    """`model.inputs` and `model.stored_size`; DatasetError for frames that are not square."""
    from vtr_core.data.records.required_kind import require_frames

    schema = require_frames(manifest.schema, manifest.uri)
    if schema.height != schema.width:
        shown = f"{schema.height} × {schema.width}"
        raise DatasetError(f"{manifest.uri} has frames of {shown} pixels; extract square ones with vtr extract")
    inputs = ModelInputs(num_words=manifest.vocabulary.num_words, max_words=schema.max_words)
    return {"model.inputs": inputs.model_dump(), "model.stored_size": schema.height}
