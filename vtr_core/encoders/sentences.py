"""`st:`: sentence-transformers, whose one `encode` takes texts, and pictures where a model is multimodal."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, UInt8
from PIL import Image

from vtr_core.encoders.encoder import Encoder, TokenVectors, UnitHead, token_vectors, unit
from vtr_core.encoders.weights import folder_fingerprint, model_folder, one_line_fault, quiet_loading
from vtr_core.errors import CheckpointError
from vtr_core.video.streams import FullPicture, PictureStream, Rate

_AT_ONCE = 64
_FRAMES_AT_ONCE = 8


class SentenceEncoder(Encoder):
    """A model of sentence-transformers, from a folder, the Hugging Face cache or the hub.

    Frames of a multimodal one are decoded whole, and its own processor scales them; a stored row is the unit vector of
    a frame. Texts are encoded without a prompt, as frames are.
    """

    def __init__(self, place: str, device: str, remote_code: bool = False) -> None:
        self.name = f"st:{place}"
        folder = model_folder(place)
        self.fingerprint = folder_fingerprint(folder)
        self._model = _load(folder, device, remote_code)
        self.dim = self.encode_text(["a"]).shape[-1]
        self.token_dim = self._token_dim()
        if self._model.supports("image"):
            stream = PictureStream(FullPicture(), Rate(1.0), chunk=_FRAMES_AT_ONCE)
            network = "a multimodal model of sentence-transformers: the vector of a frame"
            self.recipe = self.recipe_of(network, stream, rows_per_second=1.0, remote_code=remote_code)

    def encode_text(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts dim"]:
        """The unit vector of each text."""
        return self._encoded(list(texts), _AT_ONCE)

    def encode_tokens(self, texts: Sequence[str]) -> TokenVectors:
        """The vector of each token, of the last layer; special tokens are tokens."""
        if self.token_dim is None:
            return super().encode_tokens(texts)
        rows = self._model.encode(
            list(texts), batch_size=_AT_ONCE, show_progress_bar=False, output_value="token_embeddings"
        )
        return token_vectors(rows, self.token_dim)

    def encode_rows(self, frames: UInt8[np.ndarray, "frames height width 3"]) -> Float32[np.ndarray, "frames dim"]:
        """The unit vector of each frame of any size; ConfigError for a model of text alone."""
        if self.recipe is None:
            return super().encode_rows(frames)
        return self._encoded([Image.fromarray(frame) for frame in frames], _FRAMES_AT_ONCE)

    def head(self) -> UnitHead:
        """Rows are in the joint space already; ConfigError for a model of text alone."""
        if self.recipe is None:
            raise self._text_alone("videos")
        return UnitHead()

    def _encoded(self, inputs: list[Any], at_once: int) -> Float32[np.ndarray, "inputs dim"]:
        if not inputs:
            return np.zeros((0, self.dim), np.float32)
        vectors = self._model.encode(inputs, batch_size=at_once, show_progress_bar=False, convert_to_numpy=True)
        return unit(np.asarray(vectors, np.float32))

    def _token_dim(self) -> int | None:
        """None for a model that gives vectors of whole texts alone."""
        try:
            (row,) = self._model.encode(["a"], show_progress_bar=False, output_value="token_embeddings")
        except KeyError:
            return None
        return int(row.shape[-1])


def _load(folder: Path, device: str, remote_code: bool) -> Any:
    from sentence_transformers import SentenceTransformer

    quiet_loading()
    try:
        model = SentenceTransformer(
            str(folder),
            device=device,
            trust_remote_code=remote_code,
            local_files_only=True,
            model_kwargs={"use_safetensors": True},
        ).eval()
    except Exception as error:  # the library's own faults are of many kinds
        raise one_line_fault(f"{folder} is no model that sentence-transformers loads", error) from error
    if not model.supports("text"):
        raise CheckpointError(
            f"{folder} encodes {', '.join(map(str, model.modalities))} and no text; give another model"
        )
    return model
