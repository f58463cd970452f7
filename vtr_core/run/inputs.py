"""A configuration completed with what its data set delivers."""

from typing import Any

from vtr_core.config.model_inputs import ModelInputs
from vtr_core.config.override import override
from vtr_core.config.shards import OnBadShard
from vtr_core.data.captions.information import check_told
from vtr_core.data.captions.video_captions import video_captions
from vtr_core.data.manifest import Manifest
from vtr_core.data.records.schema import require_images
from vtr_core.data.shards.checks import usable_clips, usable_images, usable_videos
from vtr_core.errors import DatasetError
from vtr_core.run.config import TrainConfig
from vtr_core.run.models import ModelConfig, reads_images, reads_videos, trained_vectors
from vtr_core.systems.captioning.config import CaptionerConfig
from vtr_core.systems.captioning.task import check_captioning
from vtr_core.systems.dual.task import check_dual
from vtr_core.systems.joint_space.task import check_learner
from vtr_core.systems.siamese.config import SiameseConfig
from vtr_core.systems.siamese.task import check_siamese


def usable_data(model: ModelConfig, uri: str, on_bad_shard: OnBadShard = "fail") -> Manifest:
    """The manifest of a data set of the kind that the model reads; see `usable_clips` and its neighbours."""
    if reads_images(model):
        return usable_images(uri, on_bad_shard)
    usable = usable_videos if reads_videos(model) else usable_clips
    return usable(uri, on_bad_shard)


def with_inputs(config: TrainConfig, manifest: Manifest) -> TrainConfig:
    """`config` with the model's inputs taken from the training data.

    A configuration that already has inputs, as every run's config.json does, must agree with the data: DatasetError.
    Without given word vectors the vocabulary's vectors are trained. ConfigError where the configuration's parts do not
    go together, DatasetError for a video without captions where captions are learned.
    """
    check_dual(config)
    check_learner(config.model)
    check_siamese(config)
    if isinstance(config.model, SiameseConfig):
        return _with_images(config, manifest)
    check_captioning(config)
    if isinstance(config.model, CaptionerConfig):
        check_told(video_captions(manifest), manifest.uri)
    features = {feature.name: feature.dim for feature in manifest.schema.features}
    given = config.model.inputs
    if given.features and given.features != features:
        raise DatasetError(
            f"{manifest.uri} delivers {_listed(features)}, the configuration was made for {_listed(given.features)}; "
            "use a preset, which takes what the data set has"
        )
    words = manifest.vocabulary
    inputs = ModelInputs(
        features=features,
        num_words=words.num_words,
        word_dim=words.word_dim or given.word_dim,
        max_words=manifest.schema.max_words,
    )
    changes: dict[str, Any] = {"model.inputs": inputs.model_dump()}
    trained = trained_vectors(config.model)
    if words.vectors is None and trained is not None:
        changes[trained] = True
    return override(config, changes)


def _with_images(config: TrainConfig, manifest: Manifest) -> TrainConfig:
    """The images' shape; a model of no words has no vocabulary, and of no features none."""
    schema = require_images(manifest.schema, manifest.uri)
    shape = {"height": schema.height, "width": schema.width, "channels": schema.channels}
    return override(config, {"model.image": shape, "model.inputs": ModelInputs().model_dump()})


def _listed(features: dict[str, int]) -> str:
    return ", ".join(f"{name} {dim}" for name, dim in features.items())
