"""A trained model in Python: texts, videos and sounds encoded, compared and explained."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32

from vtr_core.analysis.transforms import Transform
from vtr_core.api.features import given_features, of_files
from vtr_core.errors import InputError
from vtr_core.nn.embeddings import TEXT, VIDEO
from vtr_core.retrieval.embed.encoded import Encoded
from vtr_core.retrieval.embed.joint_space import JointSpace
from vtr_core.retrieval.evaluate.entries import Entries
from vtr_core.retrieval.evaluate.retrieval import AUDIO
from vtr_core.retrieval.evaluate.scoring import block_scores
from vtr_core.retrieval.explain.report import answer, explainable
from vtr_core.retrieval.explain.values import ExplainOptions, HitExplanation
from vtr_core.retrieval.search.dual_spaces import DualSpaces, known_queries
from vtr_core.retrieval.search.search import DualVideos, Scoring, as_tensor, latent_scores
from vtr_core.retrieval.spaces import dual_spaces_of, spaces_of
from vtr_core.train.checkpoint.load import LoadedModel, load_model

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
        asked = [texts] if isinstance(texts, str) else list(texts)
        loaded = self.loaded
        match spaces_of(loaded, "encode_text"):
            case DualSpaces() as spaces:
                return spaces.texts(loaded, asked)
            case JointSpace() as space:
                vectors, known = space.queries(loaded.model, loaded.config, loaded.vocabulary, asked)
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
            found = of_files(self.loaded, [str(sound) for sound in sounds], weights or {})
            return self._encode({AUDIO: found[AUDIO]})
        return self._encode({AUDIO: list(sounds)})

    def _encode(self, features: Mapping[str, Sequence[Any]]) -> Encoded:
        found = spaces_of(self.loaded, "encode_video").arrays
        if found is None:
            raise InputError(
                f"{self.uri} is of a {self.loaded.config.model.kind!r} model, which encodes data sets alone"
            )
        return found(self.loaded, features)

    def similarity(self, queries: Encoded, items: Encoded) -> Float32[np.ndarray, "queries items"]:
        """Every query's score with every item, higher is more similar, as evaluation compares them.

        Texts are the queries of a dual encoder, and its videos the items: where it has both spaces their scores are
        rescaled as `evaluation.normalise` says, by default over all queries and items that are given. The similarities
        to several modalities of an item are averaged.
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
        names = [str(row) for row in range(len(videos))] if ids is None else list(ids)
        if len(names) != len(videos):
            raise InputError(f"{len(names)} ids were given for {len(videos)} videos; give one for each")
        kept = np.flatnonzero(videos.known)
        latent, concept = (
            as_tensor(None if name not in videos.vectors else videos.vectors[name][kept])
            for name in ("latent", "concept")
        )
        kind = spaces.concept_similarity(loaded.config)
        searched = DualVideos(tuple(names[row] for row in kept), latent, concept, loaded.concepts, kind)
        scoring = Scoring(searched.default_space, Transform(kind), loaded.config.evaluation.latent_weight)
        (asked,) = known_queries(spaces, loaded, [query])
        options = ExplainOptions(hits=k, tags=tags)
        return answer(explainable(searched, scoring), asked, (), options, latent_scores(searched, asked)).hits


def load(uri: str | Path, device: str | None = None) -> Model:
    """The model of a run folder (its best checkpoint), a checkpoint, a folder of `vtr export`, s3://…, or models:/….

    device: where it computes, such as "cpu" or "cuda:1" (default: the first GPU where there is one, else the CPU).
    CheckpointError where there is no such model, or it is damaged.
    """
    chosen = device or ("cuda" if torch.cuda.is_available() else "cpu")
    return Model(load_model(str(uri), chosen))


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
