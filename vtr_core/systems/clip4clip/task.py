"""`Implementation` of CLIP4Clip: how it is built, trained, served."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import nn

from vtr_core.config.run import TrainConfig
from vtr_core.data.batches import Crops
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.nn.mamba.learners import scan_event
from vtr_core.systems.clip4clip.config import Clip4ClipConfig, MuseFrames
from vtr_core.systems.clip4clip.model import Clip4Clip, current_names, load_pretrained
from vtr_core.systems.clip4clip.picture_embeddings import check, embed_clips, embed_words, encode_pictures
from vtr_core.systems.implementation import Implementation
from vtr_core.systems.joint_space import RetrievalTask, predict, signature
from vtr_core.systems.spaces import JointSpace
from vtr_core.systems.task import LossTables


def _build(
    config: Clip4ClipConfig,
    vectors: np.ndarray | None,
    statistics: Mapping[str, FeatureStatistics] | None,
) -> Clip4Clip:
    """A newly initialised model; CLIP has word vectors of its own."""
    assert vectors is None or statistics is None
    return Clip4Clip(config)


def _task(
    config: TrainConfig,
    rank: int,
    world: int,
    tables: LossTables,
) -> RetrievalTask:
    model = config.model
    assert isinstance(model, Clip4ClipConfig)
    crops = Crops(model.stored_size, model.backbone.image_size, model.random_crop, config.seed)
    return RetrievalTask(config, rank, world, crops.batch, tables.information)


def _events(model: nn.Module, device: torch.device, dtype: torch.dtype) -> Mapping[str, Mapping[str, str]]:
    """Backend of the selective scan, which `auto` leaves open."""
    assert isinstance(model, Clip4Clip)
    frames = model.config.frames
    return scan_event(frames.learner, device, dtype) if isinstance(frames, MuseFrames) else {}


IMPLEMENTATION = Implementation(
    build=_build,
    task=_task,
    predict=predict,
    signature=signature,
    retrieval=JointSpace(check=check, rows=embed_clips, queries=embed_words, arrays=encode_pictures),
    events=_events,
    pretrained=load_pretrained,
    current_names=current_names,
)
