"""Sentence encoders with frozen weights on a system's text side."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float32, Int64, UInt8
from PIL import Image
from torch import Tensor, nn

from vtr_core.config.pretrained import UNKNOWN_FINGERPRINT, EncoderRecord
from vtr_core.encoders.encoder import Encoder, TokenVectors, UnitHead, encoder, token_vectors, unit
from vtr_core.encoders.weights import folder_fingerprint, model_folder, one_line_fault, quiet_loading
from vtr_core.errors import CheckpointError, ConfigError
from vtr_core.storage.stated_places import stated_by
from vtr_core.text.tokens.vocabulary import given_texts, texts_of
from vtr_core.video.streams import FullPicture, PictureStream, Rate

_AT_ONCE = 64
_FRAMES_AT_ONCE = 8


class SentenceEncoder(Encoder):
    """A model of sentence-transformers, from a folder, the Hugging Face cache or the hub.

    Frames of a multimodal one are decoded whole, and its own processor scales them; a stored row is the unit vector of
    a frame. Texts are encoded without a prompt, as frames are.
    """

    def __init__(self, place: str, device: str) -> None:
        self.name = f"st:{place}"
        folder = model_folder(place)
        self.fingerprint = folder_fingerprint(folder)
        self._model = _load(folder, device)
        self.dim = self.encode_text(["a"]).shape[-1]
        self.token_dim = self._token_dim()
        if self._model.supports("image"):
            stream = PictureStream(FullPicture(), Rate(1.0), chunk=_FRAMES_AT_ONCE)
            network = "a multimodal model of sentence-transformers: the vector of a frame"
            self.recipe = self.recipe_of(network, stream, rows_per_second=1.0)

    def encode_text(self, texts: Sequence[str]) -> Float32[np.ndarray, "texts dim"]:
        """The unit vector of each text."""
        return self._encoded(given_texts(texts), _AT_ONCE)

    def encode_tokens(self, texts: Sequence[str]) -> TokenVectors:
        """The vector of each token, of the last layer; special tokens are tokens."""
        if self.token_dim is None:
            return super().encode_tokens(texts)
        rows = self._model.encode(
            given_texts(texts), batch_size=_AT_ONCE, show_progress_bar=False, output_value="token_embeddings"
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


def _load(folder: Path, device: str) -> Any:
    from sentence_transformers import SentenceTransformer

    quiet_loading()
    try:
        model = SentenceTransformer(
            str(folder),
            device=device,
            trust_remote_code=False,
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


KEPT_BYTES = 2**29
"""Vectors of texts that are kept in a process, of each encoder; those not asked for longest are dropped."""
_LONGEST = 64
"""Tokens of a text whose vectors are given."""


def encoder_record(encoder: Encoder) -> EncoderRecord:
    """What a checkpoint says of an encoder."""
    return EncoderRecord(
        name=encoder.name,
        fingerprint=encoder.fingerprint,
        dim=encoder.dim,
        token_dim=encoder.token_dim,
        feature_dim=0 if encoder.recipe is None else encoder.recipe.dim,
        classes=len(encoder.concepts),
    )


def read_record(record: EncoderRecord) -> EncoderRecord:
    """The record of the encoder of this name; CheckpointError where a run has recorded another of this name."""
    present = encoder_record(encoder(record.name))
    if record.fingerprint not in (UNKNOWN_FINGERPRINT, present.fingerprint):
        raise _other_encoder(record.name, record.fingerprint, present.fingerprint)
    return present


@dataclass
class KeptVectors:
    """Vectors of texts by an encoder, those that were asked for last at the end."""

    by_text: OrderedDict[str, Tensor] = field(default_factory=OrderedDict)
    size: int = 0
    """Bytes of all vectors."""
    lock: Lock = field(default_factory=Lock)

    def of(self, texts: Sequence[str], encode: Callable[[list[str]], Sequence[Tensor]], empty: Tensor) -> list[Tensor]:
        """The vectors of each text, by `encode` where they are not kept; `empty` for an empty text."""
        with self.lock:
            distinct = [text for text in dict.fromkeys(texts) if text]
            missing = [text for text in distinct if text not in self.by_text]
            if missing:
                for text, vectors in zip(missing, encode(missing), strict=True):
                    self.by_text[text] = vectors
                    self.size += vectors.nbytes
            for text in distinct:
                self.by_text.move_to_end(text)
            rows = [self.by_text[text] if text else empty for text in texts]
            while self.size > KEPT_BYTES:
                self.size -= self.by_text.popitem(last=False)[1].nbytes
            return rows


@lru_cache(maxsize=8)
def _kept_vectors(fingerprint: str, kind: str) -> KeptVectors:  # noqa: ARG001  models of one process share an encoder's vectors
    return KeptVectors()


class FrozenText(nn.Module):
    """Vectors of captions that are given as texts in UTF-8 (`Vocabulary.utf8`), by an encoder that is not trained.

    The encoder's weights are no part of the state: `fingerprint`, a buffer, says which they were, and a model that is
    loaded refuses others. They are read when the first text comes, so that building a model costs nothing.
    """

    fingerprint: Tensor

    def __init__(self, record: EncoderRecord) -> None:
        super().__init__()
        self.name, self.dim, self.token_dim = record.name, record.dim, record.token_dim
        self.stated_by: str | None = None  # the checkpoint that names the encoder, whose files must be here then
        self.register_buffer("fingerprint", torch.tensor(list(bytes.fromhex(record.fingerprint)), dtype=torch.uint8))

    @property
    def encoder(self) -> Encoder:
        """The encoder, on this module's device; CheckpointError where the one of this name has other weights."""
        with stated_by(self.stated_by):
            loaded = encoder(self.name, str(self.fingerprint.device))
        if loaded.fingerprint != self._recorded:
            raise _other_encoder(self.name, self._recorded, loaded.fingerprint)
        return loaded

    @property
    def _recorded(self) -> str:
        return bytes(self.fingerprint.cpu().tolist()).hex()

    def forward(self, tokens: Int64[Tensor, "texts bytes"]) -> Float[Tensor, "texts dim"]:
        """The unit vector of each text; 0 for an empty one."""

        def encode(texts: list[str]) -> Sequence[Tensor]:
            return list(torch.from_numpy(self.encoder.encode_text(texts)))

        nothing = torch.zeros(self.dim)
        rows = _kept_vectors(self._recorded, "texts").of(_texts(tokens), encode, nothing)
        return torch.stack([nothing, *rows])[1:].to(self.fingerprint.device)

    def tokens(self, tokens: Int64[Tensor, "texts bytes"]) -> TokenVectors:
        """The vectors of each text's first tokens; an empty text has none. ConfigError where the encoder gives none."""
        if self.token_dim is None:
            raise ConfigError(f"{self.name} gives no vectors of tokens; name another encoder, such as bundled")

        def encode(texts: list[str]) -> Sequence[Tensor]:
            encoded = self.encoder.encode_tokens(texts)
            rows = [
                vectors[mask][:_LONGEST].half() for vectors, mask in zip(encoded.vectors, encoded.mask, strict=True)
            ]
            if not all(row.isfinite().all() for row in rows):
                raise ConfigError(f"{self.name} gives vectors of tokens beyond float16's range; name another encoder")
            return rows

        nothing, device = torch.zeros(0, self.token_dim, dtype=torch.float16), self.fingerprint.device
        rows = _kept_vectors(self._recorded, "tokens").of(_texts(tokens), encode, nothing)
        padded = token_vectors(rows, self.token_dim)
        return TokenVectors(padded.vectors.to(device), padded.mask.to(device))


def _texts(tokens: Int64[Tensor, "texts bytes"]) -> list[str]:
    return [text.strip() for text in texts_of(np.asarray(tokens.cpu()))]


def _other_encoder(name: str, recorded: str, present: str) -> CheckpointError:
    return CheckpointError(
        f"the model was trained with the encoder {name} of fingerprint {recorded[:12]}, the one here is "
        f"{present[:12]}: vectors of the two cannot be compared; install the one it was trained with"
    )
