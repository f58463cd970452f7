"""A configuration completed with what its data set delivers."""

from vtr_core.config.model import ModelInputs
from vtr_core.config.override import override
from vtr_core.config.train import TrainConfig
from vtr_core.data.manifest import Manifest
from vtr_core.errors import DatasetError


def with_inputs(config: TrainConfig, manifest: Manifest) -> TrainConfig:
    """`config` with the model's inputs taken from the training data.

    A configuration that already has inputs, as every run's config.json does, must agree with the data: DatasetError.
    Without given word vectors the vocabulary's vectors are trained.
    """
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
    changes = {"model.inputs": inputs.model_dump()}
    if words.vectors is None:
        changes["model.words.train_vectors"] = True  # type: ignore[assignment]
    return override(config, changes)


def _listed(features: dict[str, int]) -> str:
    return ", ".join(f"{name} {dim}" for name, dim in features.items())
