"""`st:`: text by sentence-transformers, which also encodes pictures where a model takes them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from vtr_core.encoders.encoder import Encoder, TokenVectors, unit
from vtr_core.encoders.weights import folder_fingerprint, model_folder, one_line_fault, quiet_loading

AT_ONCE = 64


class SentenceEncoder(Encoder):
    """A model of sentence-transformers, from a folder, the Hugging Face cache or the hub."""

    def __init__(self, place: str, device: str, remote_code: bool = False) -> None:
        self.name = f"st:{place}"
        folder = model_folder(place)
        self.fingerprint = folder_fingerprint(folder)
        self._model = _load(folder, device, remote_code)
        self.dim = int(self._model.get_embedding_dimension() or 0)
        self.token_dim = _token_dim(self._model)

    def encode_text(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts dim"]:
        """The unit vector of each text."""
        if not texts:
            return np.zeros((0, self.dim), np.float32)
        found = self._model.encode(list(texts), batch_size=AT_ONCE, show_progress_bar=False, convert_to_numpy=True)
        return unit(np.asarray(found, np.float32))

    def encode_tokens(self, texts: Sequence[str]) -> TokenVectors:
        """The vector of each token, of the last layer; special tokens are tokens."""
        if self.token_dim is None:
            return super().encode_tokens(texts)
        rows = self._model.encode(
            list(texts), batch_size=AT_ONCE, show_progress_bar=False, output_value="token_embeddings"
        )
        return TokenVectors.of(rows, self.token_dim)


def _load(folder: Path, device: str, remote_code: bool) -> Any:
    from sentence_transformers import SentenceTransformer

    quiet_loading()
    try:
        return SentenceTransformer(
            str(folder),
            device=device,
            trust_remote_code=remote_code,
            local_files_only=True,
            model_kwargs={"use_safetensors": True},
        ).eval()
    except Exception as error:  # the library's own faults are of many kinds
        raise one_line_fault(f"{folder} is no model that sentence-transformers loads", error) from error


def _token_dim(model: Any) -> int | None:
    found = getattr(model[0], "get_embedding_dimension", None) or getattr(
        model[0], "get_word_embedding_dimension", None
    )
    return None if found is None else int(found())
