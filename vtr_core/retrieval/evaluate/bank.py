"""The bank of captions of query-bank normalisation, drawn from a data set that is not tested."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import nn

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.retrieval.embed.clips import embed_captions
from vtr_core.retrieval.evaluate.normalized import Bank
from vtr_core.text.tokens.vocabulary import Vocabulary


def check_bank(bank: Manifest, tested: Sequence[Manifest]) -> None:
    """ConfigError where the bank is one of the evaluated data sets, which would leak test queries."""
    for manifest in tested:
        if manifest.fingerprint == bank.fingerprint:
            raise ConfigError(
                f"--query-bank {bank.uri} is the data set that is evaluated; give the captions of a training data set"
            )


def sample_captions(manifest: Manifest, size: int, seed: int) -> list[str]:
    """Captions of `size` rows (all, if fewer) drawn without replacement, a function of (data set, size, seed)."""
    drawn = np.random.default_rng(seed).choice(manifest.rows, min(size, manifest.rows), replace=False)
    wanted = np.zeros(manifest.rows, bool)
    wanted[drawn] = True
    reader = RowGroupReader(manifest, ["caption"])
    captions: list[str] = []
    first = 0
    for place in row_groups(manifest):
        count = sum(manifest.shards[place.shard].row_groups[place.index])
        chosen = np.flatnonzero(wanted[first : first + count])
        if len(chosen):
            captions.extend(reader.read(place)["caption"][chosen].tolist())
        first += count
    return captions


def embed_bank(
    model: nn.Module,
    features: Mapping[str, int],
    vocabulary: Vocabulary,
    manifest: Manifest,
    captions: Sequence[str],
    max_rows: int,
) -> Bank:
    """The bank of the captions with a known word; DatasetError where there are none."""
    vectors, known = embed_captions(model, features, vocabulary, captions, manifest.schema.max_words, max_rows)
    if not known.any():
        raise DatasetError(f"{manifest.uri}: no caption of the bank holds a word that the model knows; give another")
    return Bank(torch.from_numpy(vectors[known]), manifest.uri)
