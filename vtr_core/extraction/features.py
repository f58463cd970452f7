"""Features of a video: its streams through a network in windows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float, Float16, Num, Shaped

from vtr_core.backbones.recipes import Modality, Recipe, file_sha256, recipe, weights_file
from vtr_core.data.reading.stored_rows import taken_frames
from vtr_core.data.sources.features.feature_arrays import Pool, l2, pool, to_float16, window
from vtr_core.errors import ConfigError
from vtr_core.fingerprint import fingerprint
from vtr_core.storage.stated_places import stated_by
from vtr_core.unusable import Reason, UnusableError
from vtr_core.video.streams import Chunk, End, Stream


@dataclass(frozen=True)
class Chosen:
    """A recipe with its weights file and the file's hash, if it has weights. Every node needs the file."""

    recipe: Recipe
    weights: str | None
    sha256: str | None

    def settings(self) -> dict[str, Any]:
        """The settings that determine the features, and their fingerprint, for manifests."""
        encoder = self.recipe.fingerprint
        settings = self.recipe.settings(self.sha256 if encoder is None else encoder)
        return {**settings, "fingerprint": fingerprint(settings) if encoder is None else encoder}


def choose(names: Sequence[str], weights: Mapping[str, str]) -> tuple[Chosen, ...]:
    """The recipes called `names`, in this order, which may be encoders' names: those of the rows that they store.

    weights: files by recipe, for those whose package has no weights. Raises ConfigError for unknown
    or repeated recipes, encoders of text alone, weights of a recipe that is not chosen, and missing weights.
    """
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"the recipe {name} is given twice; give each once")
    for name in weights:
        if name not in names:
            raise ConfigError(f"--weights names {name}, which is no recipe of this command; --recipe gives them")
    return tuple(_chosen(name, weights) for name in names)


def choose_alike(recipes: Sequence[Mapping[str, Any]], weights: Mapping[str, str], uri: str) -> tuple[Chosen, ...]:
    """The recipes of a model's training data, as its checkpoint `uri` lists them, with this machine's weights.

    ConfigError where they are not the same.
    """
    with stated_by(uri):
        chosen = choose([str(before["name"]) for before in recipes], weights)
    for choice, before in zip(chosen, recipes, strict=True):
        name = choice.recipe.name
        if before.get("decoder", "pyav") != "pyav":
            raise ConfigError(
                f"the training data of {uri} were decoded by {before['decoder']}, and videos are decoded by PyAV here; "
                "give arrays of features"
            )
        if choice.settings()["fingerprint"] != before["fingerprint"]:
            raise ConfigError(
                f"the recipe {name} is not that of the training data of {uri}: revision or weights differ; "
                f"give their file as weights={{{name!r}: FILE}}, or arrays of features"
            )
    return chosen


def check_weights(chosen: Sequence[Chosen], weights: Mapping[str, str]) -> None:
    """CheckpointError for a file of `weights` that does not fill its network, which is loaded on the CPU and let go of.

    Before a job begins: Ray starts actors that fail where they are made again and again.
    """
    for choice in chosen:
        if choice.recipe.name in weights:
            choice.recipe.load(choice.weights, "cpu")


def _chosen(name: str, weights: Mapping[str, str]) -> Chosen:
    from vtr_core.encoders.encoder import frames_recipe, is_encoder  # torch, which decoders do not need

    if is_encoder(name):
        if name in weights:
            raise ConfigError(f"--weights is for recipes, and {name} is an encoder, which names its weights itself")
        return Chosen(frames_recipe(name), None, None)
    chosen_recipe = recipe(name)
    file = weights_file(chosen_recipe, weights)
    return Chosen(chosen_recipe, None, None) if file is None else Chosen(chosen_recipe, str(file), file_sha256(file))


def streams(chosen: Sequence[Chosen]) -> tuple[Stream, ...]:
    """The streams requested from the decoder: those of all recipes, without duplicates."""
    return tuple(dict.fromkeys(choice.recipe.stream for choice in chosen))


def columns(chosen: Sequence[Chosen]) -> dict[Modality, list[int]]:
    """The positions of the recipes of each modality."""
    positions: dict[Modality, list[int]] = {}
    for position, choice in enumerate(chosen):
        positions.setdefault(choice.recipe.modality, []).append(position)
    return positions


@dataclass(frozen=True)
class Rows:
    """The features of one chunk by one recipe."""

    recipe: int
    """The recipe's position among the chosen ones."""
    chunk: int
    values: Shaped[np.ndarray, "rows ..."]
    """Features, float32 (rows, dim); stored pictures, an object array of bytes (rows,)."""


class Networks:
    """The networks of all chosen recipes on one device."""

    def __init__(self, chosen: Sequence[Chosen], device: str) -> None:
        requested = streams(chosen)
        self._stream_of = [requested.index(choice.recipe.stream) for choice in chosen]
        self._extractors = [choice.recipe.load(choice.weights, device) for choice in chosen]

    def rows(self, chunk: Chunk) -> list[Rows]:
        """The features of the chunk by every recipe of its stream."""
        takers = [i for i, stream in enumerate(self._stream_of) if stream == chunk.stream]
        return [Rows(i, chunk.index, self._extractors[i](chunk.values)) for i in takers]


@dataclass(frozen=True)
class VideoFeatures:
    """The rows of every recipe with non-empty input, by the recipe's position, and the video's duration."""

    by_recipe: dict[int, Float16[np.ndarray, "rows dim"]]
    duration: float
    pictures: dict[int, Shaped[np.ndarray, " _"]] = field(default_factory=dict)
    """Stored pictures by recipe position: bytes, as `pictures.py` encodes them, or None for discarded ones."""
    remark: str = ""
    """What a person may have to know of its times, see `End.remark`."""


Extracted = VideoFeatures | UnusableError
"""The features of a video, or why it has none."""


def assemble(parts: Iterable[Rows], end: End, names: Sequence[str], where: str) -> Extracted:
    """All rows of a video in storage format, for each recipe in the order of its chunks; names: the recipes' names."""
    by_recipe: dict[int, list[Rows]] = {}
    for part in parts:
        by_recipe.setdefault(part.recipe, []).append(part)
    features, pictures = {}, {}
    for position, chunks in sorted(by_recipe.items()):
        values = np.concatenate([part.values for part in sorted(chunks, key=lambda part: part.chunk)])
        if len(values) and values.dtype == object:
            pictures[position] = values
        elif len(values):
            try:
                features[position] = to_float16(values, f"{where}, {names[position]}")
            except UnusableError as fault:
                return fault.with_traceback(None)
    if not features and not pictures:
        return UnusableError(Reason.NO_SOUND, f"{where} has no sound, and no recipe sees its pictures")
    return VideoFeatures(features, end.duration, pictures, end.remark)


@dataclass(frozen=True)
class ClipPooling:
    """How the rows of a clip become one vector.

    Those of a pretrained encoder are never scaled: its head takes their mean as it is.
    """

    pool: Pool = "mean_std"
    normalise: bool = True

    def vector(
        self, chosen: Sequence[Chosen], modality: Modality, video: VideoFeatures, span: tuple[float, float]
    ) -> Float16[np.ndarray, " dim"] | None:
        """The concatenated features of a modality's recipes from `span`, its first and last second; None where the
        video, or the clip, has none.
        """
        start, end = span
        parts: list[Float[np.ndarray, " part"]] = []
        for position in columns(chosen)[modality]:
            rows, rate = video.by_recipe.get(position), chosen[position].recipe.rows_per_second
            if rows is None or (rate is not None and int(start * rate) >= len(rows)):
                return None
            if rate is not None:
                rows = window(rows, start, end, rate)
            vector = pool(rows, self.pool)
            encoder_rows = chosen[position].recipe.fingerprint is not None
            parts.append(l2(vector) if self.normalise and not encoder_rows else vector)
        return np.concatenate([to_float16(part, modality) for part in parts])


def video_features(chosen: Sequence[Chosen], video: VideoFeatures) -> dict[str, Num[np.ndarray, "rows dim"]]:
    """The features of a whole video by name: all rows of a recipe, or its `most_rows`."""
    names = feature_names(chosen)
    rows_of = {i: evenly_kept(rows, chosen[i].recipe.most_rows) for i, rows in video.by_recipe.items()}
    return {name: rows_of[i] for i, name in names.items() if i in rows_of}


def feature_names(chosen: Sequence[Chosen]) -> dict[int, str]:
    """The features of whole videos by their recipes' positions: the modality where it has one recipe, else its name."""
    return {i: name if len(of) == 1 else chosen[i].recipe.feature for name, of in columns(chosen).items() for i in of}


def evenly_kept(rows: Num[np.ndarray, "rows ..."], most: int | None) -> Num[np.ndarray, "kept ..."]:
    """At most `most` rows, in equal steps from the first to the last."""
    return rows if most is None else rows[list(taken_frames(len(rows), most))]


def extraction_of(source: dict[str, Any]) -> dict[str, Any] | None:
    """What a checkpoint keeps of its training data's `source`, to extract alike; None for other data sets."""
    if source.get("adapter") != "extract" or not source.get("recipes"):
        return None
    return {name: source[name] for name in ("recipes", "pool", "normalise", "records") if name in source}
