"""A pretrained text encoder inside a model: named by the checkpoint and not stored in it, and computed once a text."""

from collections import OrderedDict

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from vtr_core.encoders.encoder import Encoder, TokenVectors, encoder
from vtr_core.errors import CheckpointError
from vtr_core.text.tokens.vocabulary import texts_of

KEPT_BYTES = 2**29
"""Vectors of texts that are kept, by module; those that were not asked for longest are dropped."""
_LONGEST = 64
"""Tokens of a text whose vectors are given."""


class FrozenText(nn.Module):
    """Vectors of captions that are given as texts in UTF-8 (`Vocabulary.utf8`), by an encoder that is not trained.

    The encoder's weights are no part of the state: `fingerprint`, a buffer, says which they were, and a model that is
    loaded refuses others. They are read when the first text comes, so that building a model costs nothing.
    """

    fingerprint: Tensor

    def __init__(self, name: str, fingerprint: str, dim: int, token_dim: int | None) -> None:
        super().__init__()
        self.name, self.dim, self.token_dim = name, dim, token_dim
        self.register_buffer("fingerprint", torch.tensor(list(bytes.fromhex(fingerprint)), dtype=torch.uint8))
        self._sentences: OrderedDict[str, Tensor] = OrderedDict()
        self._tokens: OrderedDict[str, Tensor] = OrderedDict()

    @property
    def encoder(self) -> Encoder:
        """The encoder, on this module's device; CheckpointError where the one of this name has other weights."""
        found = encoder(self.name, str(self.fingerprint.device))
        asked = bytes(self.fingerprint.cpu().tolist()).hex()
        if found.fingerprint != asked:
            raise CheckpointError(
                f"the model was trained with the encoder {self.name} of fingerprint {asked[:12]}, the one here is "
                f"{found.fingerprint[:12]}: vectors of the two cannot be compared; install the one it was trained with"
            )
        return found

    def forward(self, tokens: Int64[Tensor, "texts bytes"]) -> Float[Tensor, "texts dim"]:
        """The unit vector of each text; 0 for an empty one."""
        texts = texts_of(tokens.cpu().numpy())
        missing = [text for text in dict.fromkeys(texts) if text.strip() and text not in self._sentences]
        if missing:
            for text, vector in zip(missing, torch.from_numpy(self.encoder.encode_text(missing)), strict=True):
                self._sentences[text] = vector
        nothing = torch.zeros(self.dim)
        found = torch.stack([_taken(self._sentences, text, nothing) for text in texts]) if texts else nothing[None][:0]
        _forget(self._sentences)
        return found.to(self.fingerprint.device)

    def tokens(self, tokens: Int64[Tensor, "texts bytes"]) -> TokenVectors:
        """The vectors of each text's first tokens; an empty text has none."""
        texts = texts_of(tokens.cpu().numpy())
        missing = [text for text in dict.fromkeys(texts) if text.strip() and text not in self._tokens]
        if missing:
            found = self.encoder.encode_tokens(missing)
            for text, vectors, mask in zip(missing, found.vectors, found.mask, strict=True):
                self._tokens[text] = vectors[mask][:_LONGEST].half()
        assert self.token_dim is not None, "checked when the model was built"
        nothing = torch.zeros(0, self.token_dim, dtype=torch.float16)
        rows = [_taken(self._tokens, text, nothing) for text in texts]
        _forget(self._tokens)
        device = self.fingerprint.device
        vectors = nn.utils.rnn.pad_sequence([nothing.new_zeros(1, self.token_dim), *rows], batch_first=True)[1:]
        lengths = torch.tensor([len(row) for row in rows], device=device)
        told = torch.arange(vectors.shape[1], device=device) < lengths[:, None]
        return TokenVectors(vectors.to(device).float(), told)


def _taken(kept: "OrderedDict[str, Tensor]", text: str, otherwise: Tensor) -> Tensor:
    if text not in kept:
        return otherwise
    kept.move_to_end(text)
    return kept[text]


def _forget(kept: "OrderedDict[str, Tensor]") -> None:
    """Drop the texts that were not asked for longest, down to `KEPT_BYTES`."""
    if not kept:
        return
    size = int(np.mean([vector.nbytes for vector in list(kept.values())[-64:]])) or 1
    while len(kept) * size > KEPT_BYTES:
        kept.popitem(last=False)
