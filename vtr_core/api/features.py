"""Features by name: of given arrays, or of video files by the recipes of the training data."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vtr_core.errors import ConfigError, InputError
from vtr_core.extraction.chosen import Chosen, choose_alike, columns
from vtr_core.extraction.features import Extracted, Unusable, VideoFeatures
from vtr_core.extraction.found_features import ClipPooling, video_features
from vtr_core.extraction.in_process import extract_here
from vtr_core.processors import num_usable
from vtr_core.retrieval.embed.frames import ReadsFrames
from vtr_core.run.models import reads_videos
from vtr_core.train.checkpoint.load import LoadedModel
from vtr_core.video.process import Decoding, Limits


def given_features(
    known: Mapping[str, int], given: Sequence[Any] | np.ndarray | Mapping[str, Any], exclude: str
) -> dict[str, list[Any]]:
    """The rows of each feature; those of a sequence are of the model's only feature beside `exclude`."""
    if isinstance(given, Mapping):
        named = {str(name): list(rows) for name, rows in given.items()}
        unknown = [name for name in named if name not in known]
        if unknown or not named or len({len(rows) for rows in named.values()}) > 1:
            shown = ", ".join(f"{name} ({len(rows)} rows)" for name, rows in named.items()) or "none"
            raise InputError(f"the features given are {shown}; give {_shown(known)}, with as many rows of each")
        return named
    seen = [name for name in known if name != exclude]
    if len(seen) != 1:
        raise InputError(f"the model takes {_shown(known)}; give a mapping from the feature's name to its rows")
    return {seen[0]: list(given)}


def _shown(known: Mapping[str, int]) -> str:
    return ", ".join(f"{name} ({dim} values)" for name, dim in known.items())


def of_files(loaded: LoadedModel, uris: Sequence[str], weights: Mapping[str, str]) -> dict[str, list[Any]]:
    """The features of the model in whole video files, extracted as those of its training data; None where a file has
    none, such as the sound of a silent one.

    weights: files of recipes' weights, for recipes that no package here has. ConfigError where the features cannot be
    made alike, InputError for a file that cannot be used.
    """
    made = loaded.provenance.get("extraction")
    if not isinstance(made, dict):
        raise ConfigError(
            f"{loaded.uri} names no recipes of features: its training data are not of vtr extract, or it was trained "
            "before checkpoints named them; give arrays of features"
        )
    chosen = choose_alike(made["recipes"], weights, loaded.uri)
    device = str(next(loaded.model.parameters()).device)
    at_once = min(len(uris), num_usable())
    how = Decoding(Limits(), chosen[0].decoder, "cuda" if device.startswith("cuda") else "cpu")
    found = dict(extract_here(uris, chosen, how, device, at_once))
    return _by_name([_usable(found[row], uris[row]) for row in range(len(uris))], chosen, made, loaded)


def _usable(found: Extracted, uri: str) -> VideoFeatures:
    if isinstance(found, Unusable):
        raise InputError(f"{uri}: {found.what} ({found.reason.value})")
    return found


def _by_name(
    videos: Sequence[VideoFeatures], chosen: Sequence[Chosen], made: Mapping[str, Any], loaded: LoadedModel
) -> dict[str, list[Any]]:
    """The features that the model takes, by name, with a row for each video."""
    if reads_videos(loaded.config.model):
        rows: list[dict[str, Any]] = [video_features(chosen, video) for video in videos]
    else:
        how = ClipPooling(made["pool"], made["normalise"])
        rows = [
            {name: how.vector(chosen, name, video, (0.0, video.duration)) for name in columns(chosen)}
            for video in videos
        ]
    return {name: [row.get(name) for row in rows] for name in _taken(loaded)}


def _taken(loaded: LoadedModel) -> tuple[str, ...]:
    """The features that the model reads; a model of whole videos may read some of its data's alone."""
    model = loaded.config.model
    return model.columns if isinstance(model, ReadsFrames) else tuple(model.inputs.features)
