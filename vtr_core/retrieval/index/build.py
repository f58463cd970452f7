"""The index of a data set, from a checkpoint of a dual encoder or of a model with one joint space."""

import numpy as np
from torch import Tensor

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import row_groups
from vtr_core.errors import ConfigError
from vtr_core.fingerprint import key64
from vtr_core.retrieval.embed.clips import EmbeddedRows
from vtr_core.retrieval.embed.joint_space import JointSpace
from vtr_core.retrieval.index.change import searched
from vtr_core.retrieval.index.clips import joint_clips
from vtr_core.retrieval.index.faiss import build_graph
from vtr_core.retrieval.index.index import Backend, IndexRecord, Kind, VideoIndex, model_fingerprint, sizes
from vtr_core.retrieval.index.items import described
from vtr_core.retrieval.search.dual_spaces import DualSpaces
from vtr_core.retrieval.spaces import spaces_of
from vtr_core.systems.loaded_model import TrainedModel


def build_index(
    loaded: TrainedModel, manifest: Manifest, backend: Backend, stored: EmbeddedRows | None = None
) -> VideoIndex:
    """The index of `manifest`, of the whole videos or clips that the model reads.

    stored: the embeddings of the data set, where they are already computed. Raises ConfigError for a model without
    vectors to search and for a faiss index of a space that has no inner product, DatasetError for data without the
    model's features, and whatever embedding raises.
    """
    match spaces_of(loaded, "an index"):
        case DualSpaces() as spaces:
            return _dual(loaded, spaces, manifest, backend, stored)
        case JointSpace() as space:
            return _joint(loaded, space, manifest, backend, stored)


def _dual(
    loaded: TrainedModel, spaces: DualSpaces, manifest: Manifest, backend: Backend, stored: EmbeddedRows | None
) -> VideoIndex:
    spaces.check(loaded.config, manifest)
    if backend == "faiss" and not spaces.has_latent(loaded.config):
        raise ConfigError("--backend faiss finds candidates in latent space, which the model does not have")
    videos = spaces.videos(loaded, manifest, stored).videos
    vectors: dict[str, Tensor | None] = {"latent": videos.latent, "concept": videos.concept}
    tensors = {name: space.numpy() for name, space in vectors.items() if space is not None}
    return VideoIndex(
        record=_record(loaded, manifest, "dual", tensors, videos.similarity, backend),
        tensors=tensors,
        items=described(manifest, np.array([key64(name) for name in videos.video_id], np.int64)),
        concepts=videos.concepts,
        candidates=build_graph(searched(tensors)) if backend == "faiss" else None,
    )


def _joint(
    loaded: TrainedModel, space: JointSpace, manifest: Manifest, backend: Backend, stored: EmbeddedRows | None
) -> VideoIndex:
    config = loaded.config
    space.check(config, manifest)
    similarity = config.evaluation.similarity
    if backend == "faiss" and similarity != "cosine":
        raise ConfigError(f"--backend faiss finds candidates by cosine, the model compares by {similarity}; use exact")
    rows = stored or space.rows(loaded.model, config, manifest, loaded.vocabulary, row_groups(manifest))
    clips = joint_clips(rows, manifest)
    tensors = {**clips.vectors, **{f"has_{name}": present for name, present in clips.present.items()}}
    return VideoIndex(
        record=_record(loaded, manifest, "joint", tensors, similarity, backend),
        tensors=tensors,
        items=clips.items,
        candidates=build_graph(searched(tensors)) if backend == "faiss" else None,
    )


def _record(
    loaded: TrainedModel,
    manifest: Manifest,
    kind: Kind,
    tensors: dict[str, np.ndarray],
    similarity: str,
    backend: Backend,
) -> IndexRecord:
    return IndexRecord(
        kind=kind,
        checkpoint=loaded.uri,
        model_fingerprint=model_fingerprint(loaded.model),
        preset=loaded.config.preset,
        data=manifest.uri,
        data_fingerprint=manifest.fingerprint,
        num_items=len(next(iter(tensors.values()))),
        sizes=sizes(tensors),
        similarity=similarity,
        latent_weight=loaded.config.evaluation.latent_weight,
        backend=backend,
    )
