"""A configuration completed with what its data set delivers."""

from typing import Any

from vtr_core.config.model import ModelConfig, ModelInputs, reads_videos, trained_vectors
from vtr_core.config.override import override
from vtr_core.config.train import OnBadShard, TrainConfig
from vtr_core.data.checks import usable_clips, usable_videos
from vtr_core.data.manifest import Manifest
from vtr_core.errors import DatasetError
from vtr_core.train.tasks.dual_encoding import check_dual
from vtr_core.train.tasks.retrieval import check_learner


def usable_data(model: ModelConfig, uri: str, on_bad_shard: OnBadShard = "fail") -> Manifest:
    """The manifest of a data set of the kind that the model reads; see `usable_clips` and `usable_videos`."""
    usable = usable_videos if reads_videos(model) else usable_clips
    return usable(uri, on_bad_shard)


def with_inputs(config: TrainConfig, manifest: Manifest) -> TrainConfig:
    """`config` with the model's inputs taken from the training data.

    A configuration that already has inputs, as every run's config.json does, must agree with the data: DatasetError.
    Without given word vectors the vocabulary's vectors are trained. ConfigError where the configuration's parts do not
    go together.
    """
    check_dual(config)
    check_learner(config.model)
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


def _listed(features: dict[str, int]) -> str:
    return ", ".join(f"{name} {dim}" for name, dim in features.items())
