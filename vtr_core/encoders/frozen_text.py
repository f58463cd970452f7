"""A pretrained text encoder inside a model: named by the checkpoint and not stored in it, and computed once a text."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from vtr_core.config.pretrained import UNKNOWN_FINGERPRINT, EncoderRecord
from vtr_core.encoders.encoder import Encoder, TokenVectors, encoder
from vtr_core.errors import CheckpointError, ConfigError
from vtr_core.storage.stated_places import stated_by
from vtr_core.text.tokens.vocabulary import texts_of

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
            return [
                vectors[mask][:_LONGEST].half() for vectors, mask in zip(encoded.vectors, encoded.mask, strict=True)
            ]

        nothing, device = torch.zeros(0, self.token_dim, dtype=torch.float16), self.fingerprint.device
        rows = _kept_vectors(self._recorded, "tokens").of(_texts(tokens), encode, nothing)
        vectors = nn.utils.rnn.pad_sequence([nothing.new_zeros(1, self.token_dim), *rows], batch_first=True)[1:]
        lengths = torch.tensor([len(row) for row in rows], device=device)
        return TokenVectors(
            vectors.to(device).float(), torch.arange(vectors.shape[1], device=device) < lengths[:, None]
        )


def _texts(tokens: Int64[Tensor, "texts bytes"]) -> list[str]:
    return [text.strip() for text in texts_of(np.asarray(tokens.cpu()))]


def _other_encoder(name: str, recorded: str, present: str) -> CheckpointError:
    return CheckpointError(
        f"the model was trained with the encoder {name} of fingerprint {recorded[:12]}, the one here is "
        f"{present[:12]}: vectors of the two cannot be compared; install the one it was trained with"
    )
