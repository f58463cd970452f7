"""The index of a data set, from a checkpoint of a dual encoder or of a model with one joint space."""

import numpy as np
from torch import Tensor

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import row_groups
from vtr_core.errors import ConfigError
from vtr_core.retrieval.embed.rows import embed_rows
from vtr_core.retrieval.index.faiss import build_graph
from vtr_core.retrieval.index.index import Backend, IndexRecord, Item, Kind, VideoIndex, model_fingerprint, sizes
from vtr_core.retrieval.search.joint import joint_clips
from vtr_core.systems.captioning.model import Captioner
from vtr_core.systems.dual.model import HybridEncoder
from vtr_core.systems.dual.rows import DualModel, embed_dual
from vtr_core.systems.dual.search import dual_videos


def build_index(loaded: DualModel, uri: str, manifest: Manifest, backend: Backend) -> VideoIndex:
    """The index of `manifest`, whole videos for a dual encoder and for MUSE, clips for any other model.

    loaded: the model of the checkpoint `uri`. Raises ConfigError for a faiss index of a space that has no inner
    product, and whatever embedding raises.
    """
    if isinstance(loaded.model, Captioner):
        raise ConfigError(f"{uri} is a captioner, which has no vectors to search; index a model of retrieval")
    if isinstance(loaded.model, HybridEncoder):
        return _dual(loaded, uri, manifest, backend)
    return _joint(loaded, uri, manifest, backend)


def _dual(loaded: DualModel, uri: str, manifest: Manifest, backend: Backend) -> VideoIndex:
    if backend == "faiss" and (not isinstance(loaded.model, HybridEncoder) or loaded.model.config.latent_dim is None):
        raise ConfigError("--backend faiss finds candidates in latent space, which the model does not have")
    videos, _ = dual_videos(embed_dual(loaded, manifest), loaded)
    spaces: dict[str, Tensor | None] = {"latent": videos.latent, "concept": videos.concept}
    tensors = {name: space.numpy() for name, space in spaces.items() if space is not None}
    return VideoIndex(
        record=_record(loaded, uri, manifest, "dual", tensors, videos.similarity, backend),
        tensors=tensors,
        items=tuple(Item(name, name) for name in videos.video_id),
        concepts=videos.concepts,
        candidates=build_graph(tensors["latent"]) if backend == "faiss" else None,
    )


def _joint(loaded: DualModel, uri: str, manifest: Manifest, backend: Backend) -> VideoIndex:
    config = loaded.config
    similarity = config.evaluation.similarity
    if backend == "faiss" and similarity != "cosine":
        raise ConfigError(f"--backend faiss finds candidates by cosine, the model compares by {similarity}; use exact")
    rows = embed_rows(loaded.model, config, manifest, loaded.vocabulary, row_groups(manifest))
    clips = joint_clips(rows, manifest)
    tensors = {**clips.vectors, **{f"has_{name}": present for name, present in clips.present.items()}}
    whole = np.stack(list(clips.vectors.values())).sum(axis=0, dtype=np.float32)
    return VideoIndex(
        record=_record(loaded, uri, manifest, "joint", tensors, similarity, backend),
        tensors=tensors,
        items=tuple(Item(*pair) for pair in zip(clips.item_id, clips.video_id, strict=True)),
        candidates=build_graph(whole) if backend == "faiss" else None,
    )


def _record(
    loaded: DualModel,
    uri: str,
    manifest: Manifest,
    kind: Kind,
    tensors: dict[str, np.ndarray],
    similarity: str,
    backend: Backend,
) -> IndexRecord:
    return IndexRecord(
        kind=kind,
        checkpoint=uri,
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
