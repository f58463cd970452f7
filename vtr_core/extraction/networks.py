"""The recipes of one extraction with their networks: the streams they take, and chunks to feature rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Shaped

from vtr_core.backbones.recipe import Modality, Recipe
from vtr_core.backbones.recipes import recipe
from vtr_core.backbones.weights_files import file_sha256, weights_file
from vtr_core.errors import ConfigError
from vtr_core.fingerprint import fingerprint
from vtr_core.video.decoders import Decoder
from vtr_core.video.streams import Chunk, Stream


@dataclass(frozen=True)
class Chosen:
    """A recipe with its weights file and the file's hash, if it has weights. Every node needs the file."""

    recipe: Recipe
    weights: str | None
    sha256: str | None
    decoder: Decoder = "pyav"

    def settings(self) -> dict[str, Any]:
        """The settings that determine the features, decoder included, and their fingerprint, for manifests."""
        made_with = self.recipe.fingerprint
        settings = self.recipe.settings(self.sha256 if made_with is None else made_with)
        other_decoder = self.decoder != "pyav" and self.recipe.modality == "video"
        if other_decoder:
            settings["decoder"] = self.decoder
        if made_with is None:
            return {**settings, "fingerprint": fingerprint(settings)}
        return {**settings, "fingerprint": fingerprint([made_with, self.decoder]) if other_decoder else made_with}


def choose(
    names: Sequence[str], weights: Mapping[str, str], decoder: Decoder = "pyav", remote_code: bool = False
) -> tuple[Chosen, ...]:
    """The recipes called `names`, in this order, which may be encoders' names: those of the rows that they store.

    weights: files by recipe, for those whose package has no weights; remote_code: as `encoder`. Raises ConfigError for
    unknown or repeated recipes, encoders of text alone, weights of a recipe that is not chosen, and missing weights.
    """
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"the recipe {name} is given twice; give each once")
    for name in weights:
        if name not in names:
            raise ConfigError(f"--weights names {name}, which is no recipe of this command; --recipe gives them")
    return tuple(_chosen(name, weights, decoder, remote_code) for name in names)


def choose_alike(recipes: Sequence[Mapping[str, Any]], weights: Mapping[str, str], uri: str) -> tuple[Chosen, ...]:
    """The recipes of a model's training data, as its checkpoint `uri` lists them, with this machine's weights.

    ConfigError where they are not the same.
    """
    decoder: Decoder = "torchcodec" if any(one.get("decoder") == "torchcodec" for one in recipes) else "pyav"
    chosen = choose([str(before["name"]) for before in recipes], weights, decoder)
    for one, before in zip(chosen, recipes, strict=True):
        if one.settings()["fingerprint"] != before["fingerprint"]:
            raise ConfigError(
                f"the recipe {one.recipe.name} is not that of the training data of {uri}: revision or weights differ; "
                f"give their file as weights={{{one.recipe.name!r}: FILE}}, or arrays of features"
            )
    return chosen


def check_weights(chosen: Sequence[Chosen], given: Mapping[str, str]) -> None:
    """CheckpointError for a given file that does not fill its network, which is loaded on the CPU and let go of.

    Before a job begins: Ray starts actors that fail where they are made again and again.
    """
    for one in chosen:
        if one.recipe.name in given:
            one.recipe.load(one.weights, "cpu")


def _chosen(name: str, given: Mapping[str, str], decoder: Decoder, remote_code: bool) -> Chosen:
    from vtr_core.encoders.encoder import frames_recipe, is_encoder  # torch, which decoders do not need

    if is_encoder(name):
        if name in given:
            raise ConfigError(f"--weights is for recipes, and {name} is an encoder, which names its weights itself")
        return Chosen(frames_recipe(name, remote_code), None, None, decoder)
    found = recipe(name)
    file = weights_file(found, given)
    if file is None:
        return Chosen(found, None, None, decoder)
    return Chosen(found, str(file), file_sha256(file), decoder)


def streams(chosen: Sequence[Chosen]) -> tuple[Stream, ...]:
    """The streams requested from the decoder: those of all recipes, without duplicates."""
    return tuple(dict.fromkeys(one.recipe.stream for one in chosen))


def columns(chosen: Sequence[Chosen]) -> dict[Modality, list[int]]:
    """The positions of the recipes of each modality."""
    found: dict[Modality, list[int]] = {}
    for position, one in enumerate(chosen):
        found.setdefault(one.recipe.modality, []).append(position)
    return found


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
        asked = streams(chosen)
        self._stream_of = [asked.index(one.recipe.stream) for one in chosen]
        self._extractors = [one.recipe.load(one.weights, device) for one in chosen]

    def rows(self, chunk: Chunk) -> list[Rows]:
        """The features of the chunk by every recipe of its stream."""
        takers = [i for i, stream in enumerate(self._stream_of) if stream == chunk.stream]
        return [Rows(i, chunk.index, self._extractors[i](chunk.values)) for i in takers]
