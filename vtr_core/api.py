"""What a notebook uses, as attributes of `vtr_core`: load, Model, Index, and features by name; no Ray."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from warnings import warn

import numpy as np
import torch
from jaxtyping import Float32

from vtr_core.embedding.embedded_rows import ReadsFrames
from vtr_core.embedding.rankings import AUDIO, Entries, block_scores
from vtr_core.embedding.video_ranking import DualVideos, as_tensor, latent_scores
from vtr_core.errors import ConfigError, InputError
from vtr_core.extraction.features import (
    Chosen,
    ClipPooling,
    VideoFeatures,
    choose_alike,
    columns,
    video_features,
)
from vtr_core.extraction.outputs import extract_here
from vtr_core.limits import num_usable
from vtr_core.nn.embeddings import TEXT, VIDEO
from vtr_core.retrieval.explain.explained_queries import answer, explainable
from vtr_core.retrieval.explain.explanation import ExplainOptions, HitExplanation
from vtr_core.retrieval.index.index import VideoIndex, load_index
from vtr_core.retrieval.search.filters import meeting, parse_conditions
from vtr_core.retrieval.search.index_search import Hit, JointSearcher, SearchOptions, searcher
from vtr_core.storage import locate
from vtr_core.systems.all import SYSTEMS
from vtr_core.systems.spaces import (
    DualSpaces,
    Encoded,
    JointSpace,
    dual_spaces_of,
    known_queries,
    not_known,
    spaces_of,
    unknown_words,
)
from vtr_core.text.tokens.vocabulary import given_texts
from vtr_core.train.checkpoint.trained_model import LoadedModel, read_model, read_stated_model
from vtr_core.unusable import UnusableError
from vtr_core.video.process import Limits


def given_features(
    known: Mapping[str, int], rows: Sequence[Any] | np.ndarray | Mapping[str, Any], exclude: str
) -> dict[str, list[Any]]:
    """The rows of each feature; those of a sequence are of the model's only feature beside `exclude`."""
    if isinstance(rows, Mapping):
        by_name = {str(name): list(values) for name, values in rows.items()}
        unknown = [name for name in by_name if name not in known]
        if unknown or not by_name or len({len(rows) for rows in by_name.values()}) > 1:
            shown = ", ".join(f"{name} ({len(rows)} rows)" for name, rows in by_name.items()) or "none"
            raise InputError(f"the features given are {shown}; give {_shown(known)}, with as many rows of each")
        return by_name
    names = [name for name in known if name != exclude]
    if len(names) != 1:
        raise InputError(f"the model takes {_shown(known)}; give a mapping from the feature's name to its rows")
    return {names[0]: list(rows)}


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
    features = dict(extract_here(uris, chosen, Limits(), device, at_once))
    videos = []
    for row, uri in enumerate(uris):
        extracted = features[row]
        if isinstance(extracted, UnusableError):
            raise InputError(f"{uri}: {extracted} ({extracted.reason.value})")
        videos.append(extracted)
    return _by_name(videos, chosen, made, loaded)


def _by_name(
    videos: Sequence[VideoFeatures], chosen: Sequence[Chosen], made: Mapping[str, Any], loaded: LoadedModel
) -> dict[str, list[Any]]:
    if loaded.config.model.system().records(loaded.config.model) == "videos":
        rows: list[dict[str, Any]] = [video_features(chosen, video) for video in videos]
    else:
        how = ClipPooling(made["pool"], made["normalise"])
        rows = [
            {name: how.vector(chosen, name, video, (0.0, video.duration)) for name in columns(chosen)}
            for video in videos
        ]
    model = loaded.config.model  # one of whole videos may read some of its data's features alone
    taken = model.columns if isinstance(model, ReadsFrames) else tuple(model.inputs.features)
    return {name: [row.get(name) for row in rows] for name in taken}


Rows = Sequence[Any] | np.ndarray
"""An array of features, or None, for each clip or video; or a video file for each."""


class Model:
    """A model that `load` returned. What it encodes are the vectors of evaluation, index and search.

    Rows are encoded `evaluation.batch_rows` at once, on the model's device; arrays come back on the CPU.
    """

    def __init__(self, loaded: LoadedModel) -> None:
        self.loaded = loaded

    @property
    def uri(self) -> str:
        """The checkpoint, or `models:/NAME/VERSION`."""
        return self.loaded.uri

    @property
    def features(self) -> Mapping[str, int]:
        """The features that it takes, name to dimension."""
        return self.loaded.config.model.inputs.features

    @property
    def concepts(self) -> tuple[str, ...]:
        """The names of its concepts, in the order of their scores; () without a concept space."""
        return self.loaded.concepts

    def encode_text(self, texts: str | Sequence[str]) -> Encoded:
        """The vectors of one text or of several; a text without a known word is not present, and 0.

        ConfigError for a model that encodes no texts, such as a captioner.
        """
        queries = given_texts(texts)
        loaded = self.loaded
        match spaces_of(loaded, "encode_text"):
            case DualSpaces() as spaces:
                return spaces.texts(loaded, queries)
            case JointSpace() as space:
                vectors, known = space.queries(loaded.model, loaded.config, loaded.vocabulary, queries)
                return Encoded({TEXT: vectors}, {TEXT: known})

    def encode_video(self, videos: Rows | Mapping[str, Rows], weights: Mapping[str, str] | None = None) -> Encoded:
        """The vectors of clips, or of whole videos where the model takes these.

        videos: for each clip an array (dim,), for each whole video one (frames, dim), or None; of several features a
        mapping from their names. Or video files: paths or URIs, whose features, of pictures and of sound, are extracted
        as those of the training data were. weights: files of recipes' weights, where a recipe needs one. InputError for
        arrays of another shape and files that cannot be used, ConfigError where files' features cannot be made here.
        A model of pixels takes for each clip an array of RGB frames, uint8 (frames, height, width, 3), or None.
        """
        if not self.features:
            return self._encode({VIDEO: _pixels(videos)})
        if not isinstance(videos, Mapping) and _are_files(videos):
            return self._encode(of_files(self.loaded, [str(video) for video in videos], weights or {}))
        return self._encode(given_features(self.features, videos, exclude=AUDIO))

    def encode_audio(self, sounds: Rows, weights: Mapping[str, str] | None = None) -> Encoded:
        """The vectors of the sound of clips: an array (dim,) of the feature `audio`, or None, for each, or files."""
        if AUDIO not in self.features:
            raise InputError(f"{self.uri} takes the features {', '.join(self.features)} and hears nothing")
        if _are_files(sounds):
            heard = of_files(self.loaded, [str(sound) for sound in sounds], weights or {})
            return self._encode({AUDIO: heard[AUDIO]})
        return self._encode({AUDIO: list(sounds)})

    def _encode(self, features: Mapping[str, Sequence[Any]]) -> Encoded:
        encode = spaces_of(self.loaded, "encode_video").arrays
        if encode is None:
            raise InputError(
                f"{self.uri} is of a {self.loaded.config.model.kind!r} model, which encodes data sets alone"
            )
        return encode(self.loaded, features)

    def similarity(self, queries: Encoded, items: Encoded) -> Float32[np.ndarray, "queries items"]:
        """Every query's score with every item, higher is more similar, as evaluation compares them.

        Where a dual encoder has both spaces their scores are rescaled as `evaluation.normalise` says, by default over
        all items of each query, so that a query's scores do not depend on the others; texts or videos may be the
        queries. Its texts without a known word and videos without frames have the score -inf: evaluation counts them as
        failures. The similarities to several modalities of an item are averaged.
        """
        match spaces_of(self.loaded, "similarity"):
            case DualSpaces() as spaces:
                return spaces.compare(self.loaded, queries, items)
            case JointSpace():
                similarity = self.loaded.config.evaluation.similarity
                scores = block_scores(_entries(queries), _entries(items), similarity)
                return np.asarray(scores(slice(0, len(queries)), slice(0, len(items))), np.float32)

    def explain(
        self, query: str, videos: Encoded, k: int = 5, tags: int = 10, ids: Sequence[str] | None = None
    ) -> tuple[HitExplanation, ...]:
        """The k best of `videos` for a query, each with the concepts that it was found by, `tags` of each kind.

        ids: names of the videos (default: 0, 1, …). ConfigError for a model without a concept space, InputError for a
        query without a known word.
        """
        loaded, spaces = self.loaded, dual_spaces_of(self.loaded, "explain")
        names = [str(row) for row in range(len(videos))] if ids is None else given_texts(ids)
        if len(names) != len(videos):
            raise InputError(f"{len(names)} ids were given for {len(videos)} videos; give one for each")
        shown = np.flatnonzero(videos.known)
        latent, concept = (
            as_tensor(None if name not in videos.vectors else videos.vectors[name][shown])
            for name in ("latent", "concept")
        )
        kind = spaces.concept_similarity(loaded.config)
        searched = DualVideos(tuple(names[row] for row in shown), latent, concept, loaded.concepts, kind)
        scoring = spaces.scoring(loaded)
        (query_vectors,) = known_queries(spaces, loaded, given_texts([query]))
        options = ExplainOptions(hits=k, tags=tags)
        return answer(
            explainable(searched, scoring), query_vectors, (), options, latent_scores(searched, query_vectors)
        ).hits


def load(uri: str | Path, device: str | None = None) -> Model:
    """The model of a run folder (its best checkpoint), a checkpoint, a folder of `vtr export`, s3://…, or models:/….

    device: where it computes, such as "cpu" or "cuda:1" (default: the first GPU where there is one, else the CPU).
    CheckpointError where there is no such model, or it is damaged.
    """
    return Model(read_model(str(uri), SYSTEMS, device))


def _pixels(videos: Rows | Mapping[str, Rows]) -> list[Any]:
    if isinstance(videos, Mapping) or _are_files(videos):
        raise InputError(
            "the model takes pixels; give for each clip RGB frames, uint8 (frames, height, width, 3), or None"
        )
    return list(videos)


def _are_files(rows: Rows) -> bool:
    return len(rows) > 0 and all(isinstance(row, str | Path) for row in rows)


def _entries(rows: Encoded) -> Entries:
    return Entries(
        tuple(torch.from_numpy(vectors) for vectors in rows.vectors.values()),
        tuple(rows.present.values()),
        np.arange(len(rows)),
    )


class Index:
    """An index of `vtr index`, with the model that encodes queries."""

    def __init__(self, index: VideoIndex, model: Model, options: SearchOptions | None = None) -> None:
        self.model = model
        self._items = index.items
        self._searcher = searcher(index, model.loaded, options or SearchOptions())

    @classmethod
    def open(
        cls, uri: str | Path, model: Model | str | Path | None = None, options: SearchOptions | None = None
    ) -> "Index":
        """The index at `uri`.

        model: the one that it was made with, or where that is (default: where the index says). options: how hits are
        scored (default: as the model is evaluated). DatasetError where there is no index, or it is of another model.
        """
        index = load_index(locate(str(uri)))
        if not isinstance(model, Model):
            checkpoint = None if model is None else str(model)
            model = Model(read_stated_model(checkpoint, index.record.checkpoint, str(uri), SYSTEMS, None))
        return cls(index, model, options)

    @property
    def description(self) -> str:
        """How hits are scored, in words."""
        return self._searcher.description

    def search(self, query: str, k: int = 10, filters: Sequence[str] = ()) -> tuple[Hit, ...]:
        """The k best items for a query, best first; InputError for one without a known word.

        filters: conditions such as "colour=red" that hits meet, see `vtr search --filter`. Words that the model does
        not know take no part: a warning names them, and so does `not_known`.
        """
        (hits,) = self.search_all([query], k, filters)
        if hits is None:
            raise unknown_words(query, self.model.loaded)
        if words := self.not_known(query):
            warn(not_known(words), stacklevel=2)
        return hits

    def not_known(self, query: str) -> tuple[str, ...]:
        """The words of a query that the model does not know; () for a model with a pretrained text encoder."""
        return self._searcher.vocabulary.unknown_words(query)

    def explain(self, query: str, k: int = 5, tags: int = 10) -> tuple[HitExplanation, ...]:
        """The k best items for a query, each with the concepts that make its similarity, `tags` of each kind.

        ConfigError for an index whose model names no concepts; a dual encoder's videos are explained by
        `Model.explain`.
        """
        ready = self._searcher
        if not isinstance(ready, JointSearcher) or not ready.concepts:
            raise ConfigError(f"the model of the index, {self.model.uri}, names no concepts that explain its hits")
        (query,) = given_texts([query])
        explained = ready.explained(query, ready.ranking(query, k), tags)
        if explained is None:
            raise unknown_words(query, self.model.loaded)
        return explained

    def search_all(
        self, queries: Sequence[str], k: int = 10, filters: Sequence[str] = ()
    ) -> list[tuple[Hit, ...] | None]:
        """The k best items for each query; None for a query without a known word."""
        if k < 1:
            raise InputError(f"k is {k}; it must be 1 or more")
        return self._searcher.search(
            given_texts(queries), k, meeting(self._items, parse_conditions(given_texts(filters)))
        )
