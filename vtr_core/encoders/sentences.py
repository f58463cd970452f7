"""`st:`: text by sentence-transformers, which also encodes pictures where a model takes them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32

from vtr_core.encoders.encoder import Encoder, TokenVectors, unit
from vtr_core.encoders.weights import folder_fingerprint
from vtr_core.errors import CheckpointError, ConfigError

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
        longest = max((len(row) for row in rows), default=1)
        vectors = torch.zeros(len(texts), longest, self.token_dim)
        mask = torch.zeros(len(texts), longest, dtype=torch.bool)
        for place, row in enumerate(rows):
            vectors[place, : len(row)] = row.float().cpu()
            mask[place, : len(row)] = True
        return TokenVectors(vectors, mask)


def model_folder(place: str) -> Path:
    """A model's folder: the given one, or that of a repository in the Hugging Face cache, fetched where it is missing.

    ConfigError where there is no such folder or repository.
    """
    if Path(place).is_dir():
        return Path(place)
    if place.startswith((".", "/", "~")) or place.count("/") != 1:
        raise ConfigError(f"there is no folder {place}; give a folder of a model, or owner/name of the hub")
    from huggingface_hub import snapshot_download

    wanted = ["*.safetensors", "*.json", "*.txt", "*.model", "*.jinja"]
    try:
        return Path(snapshot_download(place, allow_patterns=wanted, local_files_only=True))
    except Exception:  # not in the cache
        try:
            return Path(snapshot_download(place, allow_patterns=wanted))
        except Exception as error:  # the client's own faults, and those of its transport
            fault = " ".join(str(error).split())[:200]
            raise ConfigError(
                f"{place} is no folder, it is not in the Hugging Face cache, and the hub does not give it ({fault})"
            ) from error


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
        fault = " ".join(str(error).split())[:300]
        raise CheckpointError(f"{folder} is no model that sentence-transformers loads ({fault})") from error


def quiet_loading() -> None:
    """No progress bars of loading, which mix with the commands' own output."""
    from transformers.utils import logging

    logging.disable_progress_bar()


def _token_dim(model: Any) -> int | None:
    found = getattr(model[0], "get_embedding_dimension", None) or getattr(
        model[0], "get_word_embedding_dimension", None
    )
    return None if found is None else int(found())
