"""MUSE's training and evaluation: batches of tokens, the loss, and embedded videos and texts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float32
from torch import Tensor, nn

from vtr_core.config.run import TrainConfig
from vtr_core.data.batches import frame_batch
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup
from vtr_core.data.reading.evaluated_rows import MAX_VIDEOS, VideoRows, video_rows
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.embedding.data_frames import given_frames
from vtr_core.embedding.embedded_rows import EmbeddedRows, check_frames, concatenate, encode, evaluating
from vtr_core.errors import CheckpointError
from vtr_core.nn.embeddings import TEXT, VIDEO
from vtr_core.nn.mamba.learners import scan_event
from vtr_core.nn.mamba.mixer import MambaMixer
from vtr_core.nn.mamba.pyramid import TemporalTokens
from vtr_core.systems.implementation import Implementation, LossTables
from vtr_core.systems.joint_space import RetrievalTask, predict, signature
from vtr_core.systems.loaded_model import KnockOuts, Remark, TrainedModel
from vtr_core.systems.muse.config import MuseConfig
from vtr_core.systems.muse.model import Muse, WordTower, initialize
from vtr_core.systems.spaces import Encoded, JointSpace
from vtr_core.text.tokens.vocabulary import Vocabulary


def check(config: TrainConfig, manifest: Manifest) -> None:
    """DatasetError unless the data set has the model's features."""
    assert isinstance(config.model, MuseConfig)
    check_frames(manifest, config.model)


def embed_videos(
    model: nn.Module, config: TrainConfig, manifest: Manifest, vocabulary: Vocabulary, places: Sequence[RowGroup]
) -> EmbeddedRows:
    """A row for each caption of the videos in `places`, in file order; rows of a video share its single vector.

    Computed on the model's device; the model is left unchanged. Captions of a data set ingested with another vocabulary
    are encoded anew with the model's. At most `evaluation.batch_rows` videos or captions are embedded at once.
    """
    assert isinstance(model, Muse)
    check_frames(manifest, model.config)
    known = manifest.vocabulary.fingerprint == vocabulary.fingerprint
    parts, max_rows = [_no_rows(model)], config.evaluation.batch_rows
    with evaluating(model):
        most, names = min(MAX_VIDEOS, max_rows), model.config.columns
        for videos in video_rows(manifest, places, config.batch.max_frames, most, names, mean=False):
            captions = videos.tokens if model.words is not None else videos.caption_vectors
            if model.words is not None and not known:
                captions = encode(vocabulary, videos.captions, model.config.inputs.max_words)
            assert captions is not None, "the data set has the model's features"
            parts.append(_embedded(model, videos, captions, max_rows))
    return concatenate(parts)


def embed_words(
    model: nn.Module, config: TrainConfig, vocabulary: Vocabulary, captions: Sequence[str]
) -> tuple[Float32[np.ndarray, "captions dim"], Bool[np.ndarray, " captions"]]:
    """The vector of every caption, and whether it has an in-vocabulary word; if not, the vector is 0.

    Raises CheckpointError for a model of given text vectors, which has no vocabulary.
    """
    assert isinstance(model, Muse)
    if model.words is None:
        raise CheckpointError(
            "the model compares given vectors of texts and has no encoder of words, so it cannot embed a new text; "
            "train one with --model.text.kind encoder, or words"
        )
    with evaluating(model):
        return _texts(model, encode(vocabulary, captions, model.config.inputs.max_words), config.evaluation.batch_rows)


def encode_frames(loaded: TrainedModel, videos: Mapping[str, Sequence[Any]]) -> Encoded:
    """Videos given as frames (frames, values) of the model's feature; the vectors are those of evaluation."""
    model, config = loaded.model, loaded.config
    assert isinstance(model, Muse)
    feature, most = model.config.feature, min(MAX_VIDEOS, config.evaluation.batch_rows)
    dim, vectors, present = model.config.inputs.features[feature], [], []
    with evaluating(model):
        for batch in given_frames(videos, feature, dim, config.batch.max_frames, most):
            vectors.append(_vectors(model, batch.frames, batch.mask))
            present.append(batch.mask.any(dim=1).numpy())
    return Encoded({VIDEO: np.concatenate(vectors)}, {VIDEO: np.concatenate(present)})


def _vectors(model: Muse, frames: Tensor, mask: Tensor) -> Float32[np.ndarray, "videos dim"]:
    return model.video(*model.split(frames.to(model.device)), mask.to(model.device)).float().cpu().numpy()


def _embedded(model: Muse, videos: VideoRows, captions: Tensor, max_rows: int) -> EmbeddedRows:
    name = model.config.feature
    vectors = _vectors(model, videos.frames[name], videos.mask[name])
    texts, known = _texts(model, captions, max_rows)
    rows = videos.caption_video
    present = {TEXT: known, VIDEO: videos.present[name].numpy()[rows]}
    video_key = videos.video_key[rows]
    return EmbeddedRows({TEXT: texts, VIDEO: vectors[rows]}, present, clip_key=video_key, video_key=video_key)


def _texts(
    model: Muse, captions: Tensor, max_rows: int
) -> tuple[Float32[np.ndarray, "captions dim"], Bool[np.ndarray, " captions"]]:
    vectors = [model.text(part.to(model.device)).float().cpu().numpy() for part in captions.split(max_rows)]
    return np.concatenate(vectors), model.known(captions).numpy()


def _no_rows(model: Muse) -> EmbeddedRows:
    """The empty result of a worker without a share of a small data set."""
    nothing, no_flags, no_keys = np.zeros((0, model.dim), np.float32), np.zeros(0, np.bool_), np.zeros(0, np.int64)
    return EmbeddedRows({TEXT: nothing, VIDEO: nothing}, {TEXT: no_flags, VIDEO: no_flags}, no_keys, no_keys)


def knock_outs(model: nn.Module) -> KnockOuts:
    """The ablations that apply to a MUSE model.

    `learner`: frames unchanged, as with gates of 0, so that a video is the mean of their directions. `scale-<s>`:
    without the tokens of the s × s grid. `time-<w>`: without those of windows of w frames. `backward`: without the scan
    from the last token to the first.
    """
    assert isinstance(model, Muse)
    grids = () if model.pyramid is None else tuple(model.pyramid.scales)
    widths = zip(model.config.temporal_scales, model.temporal, strict=True)
    mixers = [m for m in model.learner.modules() if isinstance(m, MambaMixer) and m.config.scan != "none"]
    return {
        "learner": partial(_no_learner, model),
        **{f"scale-{scale}": partial(_no_grid, model, place) for place, scale in enumerate(grids)},
        **{f"time-{width}": partial(_no_windows, scale) for width, scale in widths},
        **({"backward": partial(_forward_alone, mixers)} if mixers else {}),
    }


@contextmanager
def _hooked(module: nn.Module, hook: Callable[..., Any], remark: str) -> Iterator[Remark]:
    """Context in which the module's output is `hook(module, input, output)`."""
    handle = module.register_forward_hook(hook)
    try:
        yield lambda: remark
    finally:
        handle.remove()


@contextmanager
def _no_learner(model: Muse) -> Iterator[Remark]:
    def hook(module: nn.Module, inputs: tuple[Any, ...], learned: Tensor) -> Tensor:  # noqa: ARG001
        tokens: Tensor = inputs[0]
        return tokens

    with _hooked(model.learner, hook, "a video is the mean of its frames' directions") as remark:
        yield remark


@contextmanager
def _no_grid(model: Muse, place: int) -> Iterator[Remark]:
    def hook(module: nn.Module, inputs: tuple[Any, ...], grids: list[Tensor]) -> list[Tensor]:  # noqa: ARG001
        return [*grids[:place], *grids[place + 1 :]]

    assert model.pyramid is not None
    with _hooked(model.pyramid, hook, "the tokens of this grid are left out of the sequence") as remark:
        yield remark


@contextmanager
def _no_windows(scale: nn.Module) -> Iterator[Remark]:
    def hook(module: nn.Module, inputs: tuple[Any, ...], tokens: TemporalTokens) -> TemporalTokens:  # noqa: ARG001
        return TemporalTokens(tokens.tokens, torch.zeros_like(tokens.mask))

    with _hooked(scale, hook, "the tokens of these windows are left out of the sequence") as remark:
        yield remark


@contextmanager
def _forward_alone(mixers: list[MambaMixer]) -> Iterator[Remark]:
    with ExitStack() as stack:
        for mixer in mixers:
            stack.callback(setattr, mixer, "config", mixer.config)
            mixer.config = mixer.config.model_copy(update={"scan": "none"})
        yield lambda: "tokens know those before them alone"


def _build(
    config: MuseConfig,
    vectors: np.ndarray | None,
    statistics: Mapping[str, FeatureStatistics] | None,
) -> Muse:
    """A newly initialised model; vectors: (words, word_dim) of the vocabulary, for a text encoder of words."""
    model = Muse(config)
    if statistics is not None:
        assert model.tokens is not None, "frames are taken as they are"
        model.tokens.load(statistics[config.feature])
    if config.compat == "none":
        initialize(model)
    if vectors is not None and isinstance(model.words, WordTower):
        model.words.load_word_vectors(torch.from_numpy(vectors.copy()))
    return model


def _task(
    config: TrainConfig,
    rank: int,
    world: int,
    tables: LossTables,
) -> RetrievalTask:
    assert isinstance(config.model, MuseConfig)
    names = config.model.columns
    return RetrievalTask(config, rank, world, lambda columns: frame_batch(columns, names), tables.information)


def _events(model: nn.Module, device: torch.device, dtype: torch.dtype) -> Mapping[str, Mapping[str, str]]:
    """Backend of the selective scan, which `auto` leaves open."""
    assert isinstance(model, Muse)
    return scan_event(model.config.learner, device, dtype)


IMPLEMENTATION = Implementation(
    build=_build,
    task=_task,
    predict=predict,
    signature=signature,
    retrieval=JointSpace(check=check, rows=embed_videos, queries=embed_words, arrays=encode_frames),
    events=_events,
    knock_outs=knock_outs,
)
