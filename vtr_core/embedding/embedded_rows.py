"""The embeddings of a whole data set by a model, and the fingerprint of that model's weights."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float32, Int64
from torch import Tensor, nn

from vtr_core.config.override import ModelInputs
from vtr_core.data.batches import clip_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup
from vtr_core.data.reading.row_groups import KEYS, Columns, RowGroupReader, training_columns
from vtr_core.data.records.schema import FEATURE_DTYPE, TOKEN_DTYPE
from vtr_core.errors import DatasetError
from vtr_core.nn.embeddings import TEXT, Embeddings
from vtr_core.text.tokens.vocabulary import Vocabulary


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Context with the model in evaluation mode and without gradients; its mode is restored afterwards."""
    was_training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(was_training)


@dataclass(frozen=True)
class EmbeddedRows:
    """Embeddings of rows (clip and caption) by modality, with the clip that each row shows and the clip's video."""

    vectors: dict[str, Float32[np.ndarray, "rows dim"]]
    present: dict[str, Bool[np.ndarray, " rows"]]
    clip_key: Int64[np.ndarray, " rows"]
    video_key: Int64[np.ndarray, " rows"]


def concatenate(parts: Sequence[EmbeddedRows]) -> EmbeddedRows:
    """The rows of all parts, in order."""
    names = parts[0].vectors
    return EmbeddedRows(
        vectors={name: np.concatenate([part.vectors[name] for part in parts]) for name in names},
        present={name: np.concatenate([part.present[name] for part in parts]) for name in names},
        clip_key=np.concatenate([part.clip_key for part in parts]),
        video_key=np.concatenate([part.video_key for part in parts]),
    )


def check_features(manifest: Manifest, features: Mapping[str, int]) -> None:
    """DatasetError unless the data set has at least one of the model's features, each in the model's dimension."""
    held = {feature.name: feature.dim for feature in manifest.schema.features}
    for name in held.keys() & features.keys():
        if held[name] != features[name]:
            raise DatasetError(
                f"{manifest.uri}: column {name} has {held[name]} dimensions, the model was trained on "
                f"{features[name]}; ingest it with the same features and pooling as the training data"
            )
    if not held.keys() & features.keys():
        raise DatasetError(f"{manifest.uri} has {', '.join(held)}, none of the model's features {', '.join(features)}")


def embed(
    model: nn.Module,
    features: Mapping[str, int],
    manifest: Manifest,
    vocabulary: Vocabulary,
    places: Sequence[RowGroup],
    max_rows: int,
) -> EmbeddedRows:
    """The embeddings of the rows in `places`, in file order, on the model's device; the model's mode is restored.

    features: the model's, name to dimension; those that the data set lacks are absent from every row. Captions of a
    data set with another vocabulary are re-encoded with the model's.
    """
    chunks = _chunks(manifest, features, vocabulary, places, max_rows)
    max_words = vocabulary.row_length(manifest.schema.max_words)
    return embed_columns(model, features, chain([_no_rows(max_words)], chunks))


def embed_captions(
    model: nn.Module,
    features: Mapping[str, int],
    vocabulary: Vocabulary,
    captions: Sequence[str],
    max_words: int,
    max_rows: int,
) -> tuple[Float32[np.ndarray, "captions dim"], Bool[np.ndarray, " captions"]]:
    """The vector of every caption, and whether it has a known word; without one the vector is 0.

    features: the model's, all absent here. At most `max_rows` captions are embedded at once, on the model's device.
    """
    parts = (captions[first : first + max_rows] for first in range(0, max(1, len(captions)), max_rows))
    rows = embed_columns(model, features, (caption_columns(vocabulary, part, max_words) for part in parts))
    return rows.vectors[TEXT], rows.present[TEXT]


def caption_columns(vocabulary: Vocabulary, captions: Sequence[str], max_words: int) -> Columns:
    """Rows with captions and no features, all of the same clip."""
    return {**_keys(len(captions)), "tokens": vocabulary.encode_all(captions, max_words).astype(TOKEN_DTYPE)}


def embed_columns(model: nn.Module, features: Mapping[str, int], chunks: Iterable[Columns]) -> EmbeddedRows:
    """The embeddings of the rows of all `chunks`, one or more, on the model's device; the model's mode is restored.

    features: the model's, name to dimension; those that a chunk lacks are absent from its rows.
    """
    device = next(model.parameters()).device
    parts = []
    with evaluating(model):
        for columns in chunks:
            batch = clip_batch(with_absent(columns, features), list(features)).to(device)
            parts.append(_to_rows(model(batch), columns))
    return concatenate(parts)


def _to_rows(embeddings: Embeddings, columns: Columns) -> EmbeddedRows:
    return EmbeddedRows(
        vectors={name: vectors.float().cpu().numpy() for name, vectors in embeddings.vectors.items()},
        present={name: present.cpu().numpy() for name, present in embeddings.present.items()},
        clip_key=np.array(columns["clip_key"]),
        video_key=np.array(columns["video_key"]),
    )


def _no_rows(max_words: int) -> Columns:
    """Empty columns, from which a worker without rows computes the shapes of the model's outputs."""
    return {**_keys(0), "tokens": np.zeros((0, max_words), TOKEN_DTYPE)}


def _keys(rows: int) -> Columns:
    return {key: np.zeros(rows, np.int64) for key in KEYS}


def with_absent(columns: Columns, features: Mapping[str, int]) -> Columns:
    """`columns` with zeros and no presence for the features that the data set lacks."""
    rows = len(columns["tokens"])
    absent = {name: np.zeros((rows, dim), FEATURE_DTYPE) for name, dim in features.items() if name not in columns}
    return {**columns, **absent, **{f"has_{name}": np.zeros(rows, np.bool_) for name in absent}}


def _chunks(
    manifest: Manifest, features: Collection[str], vocabulary: Vocabulary, places: Sequence[RowGroup], max_rows: int
) -> Iterator[Columns]:
    """Pieces of row groups of at most `max_rows` rows, with tokens of `vocabulary`."""
    known = manifest.vocabulary.fingerprint == vocabulary.fingerprint
    columns = training_columns(manifest.schema, names=features)
    reader = RowGroupReader(manifest, columns if known else [*columns, "caption"])
    for place in places:
        group = reader.read(place)
        if not known:
            captions = group.pop("caption")
            group["tokens"] = vocabulary.encode_all(captions.tolist(), vocabulary.row_length(manifest.schema.max_words))
        rows = len(group["clip_key"])
        for first in range(0, rows, max_rows):
            yield {name: array[first : first + max_rows] for name, array in group.items()}


@runtime_checkable
class ReadsFrames(Protocol):
    """The configuration of a model of whole videos."""

    @property
    def inputs(self) -> ModelInputs:
        """Features and vocabulary of its training data."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The feature columns that it reads."""
        ...


def check_frames(manifest: Manifest, config: ReadsFrames) -> None:
    """DatasetError unless the data set has the model's features, in their dimensions."""
    held = {feature.name: feature.dim for feature in manifest.schema.features}
    for name in config.columns:
        dim = config.inputs.features[name]
        if held.get(name) != dim:
            shown = ", ".join(f"{feature} ({size})" for feature, size in held.items())
            raise DatasetError(
                f"{manifest.uri} has the features {shown}; the model was trained on {name} ({dim}): "
                "ingest it with the same features as the training data"
            )


def encode(vocabulary: Vocabulary, captions: Sequence[str], max_words: int) -> Int64[Tensor, "captions max_words"]:
    """The token ids of captions."""
    return torch.from_numpy(caption_columns(vocabulary, captions, max_words)["tokens"].astype(np.int64))


def model_fingerprint(model: nn.Module) -> str:
    """sha256 of the names and bytes of all weights, independent of the checkpoint's location."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
