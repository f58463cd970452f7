"""A configuration completed with the inputs that its data set provides."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from vtr_core.config.model_inputs import ModelInputs
from vtr_core.config.override import override
from vtr_core.config.shards import OnBadShard
from vtr_core.data.manifest import Manifest
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.reading.statistics import absent_features
from vtr_core.data.records.required_kind import require_clips, require_frames, require_images, require_videos
from vtr_core.data.shards.checks import usable
from vtr_core.encoders.frozen_text import read_record
from vtr_core.errors import DatasetError
from vtr_core.run.config import TrainConfig
from vtr_core.run.models import ModelConfig, system_of
from vtr_core.run.parts import check_parts
from vtr_core.run.text_fit import check_captions
from vtr_core.text.tokens.vocabulary import TEXT_BYTES, Vocabulary

_REQUIRE = MappingProxyType(
    {"clips": require_clips, "videos": require_videos, "images": require_images, "frames": require_frames}
)


def usable_data(model: ModelConfig, uri: str, on_bad_shard: OnBadShard = "fail") -> Manifest:
    """The manifest of a data set of the records that the model reads; see `usable`."""
    return usable(uri, _REQUIRE[system_of(model).records(model)], on_bad_shard)


def with_inputs(config: TrainConfig, manifest: Manifest) -> TrainConfig:
    """`config` with the model's inputs taken from the training data, and its sizes from a pretrained source.

    A configuration that already has inputs, as every run's config.json does, must agree with the data: DatasetError.
    Without pretrained word vectors the vocabulary's vectors are trained. ConfigError where the configuration's parts do
    not fit together, DatasetError for data that the system cannot be trained on.
    """
    check_parts(config)
    system = system_of(config.model)
    system.check_data(manifest)
    check_captions(config, manifest)
    inputs = system.inputs(manifest, config.model) or _features_and_words(config.model, manifest)
    return override(config, {**inputs, **text_encoder_changes(config.model), **system.of_source(config.model)})


def training_reader(model: ModelConfig, manifest: Manifest, extra_captions: int) -> RowGroupReader:
    """A reader of what training needs of a data set's rows for a model with inputs: of features, those that it reads.

    extra_captions: beside its own, for each clip.
    """
    system = system_of(model)
    columns = training_columns(manifest.schema, extra_captions, system.reads_features(model))
    texts = system.reads_texts(model)
    return RowGroupReader(manifest, columns, system.reads_means(model), texts, texts and system.reads_words_too)


def model_vocabulary(model: ModelConfig, data: Vocabulary) -> Vocabulary:
    """The vocabulary of a model trained on data with the vocabulary `data`: that, texts as bytes, or both."""
    system = system_of(model)
    if not system.reads_texts(model):
        return data
    return data.with_texts() if system.reads_words_too else Vocabulary.utf8()


def text_encoder_changes(model: ModelConfig) -> dict[str, Any]:
    """The record of the model's text encoder, by the setting's dotted name; CheckpointError where it is another now."""
    setting = system_of(model).text_encoder(model)
    if setting is None:
        return {}
    record: Any = model
    for name in setting.split(".")[1:]:
        record = getattr(record, name)
    return {setting: read_record(record).model_dump()}


def require_features(config: TrainConfig, manifest: Manifest) -> None:
    """DatasetError where a model standardises a feature that no clip has, such as the sound of silent films."""
    if not system_of(config.model).standardizes(config.model):
        return
    absent = absent_features(manifest)
    for name in config.model.inputs.features:
        if name in absent:
            others = [other for other in config.model.inputs.features if other not in absent]
            leave_out = f"leave it out by --model.modalities {' '.join(others)}, or " if others else ""
            raise DatasetError(
                f"{manifest.uri}: no clip has {name}, which the model standardises; {leave_out}"
                "take features as they are by --model.standardize False"
            )


def _features_and_words(model: ModelConfig, manifest: Manifest) -> dict[str, Any]:
    features = _taken(system_of(model).takes(model), manifest)
    given = model.inputs
    if given.features and given.features != features:
        raise DatasetError(
            f"{manifest.uri} delivers {_listed(features)}, the configuration was made for {_listed(given.features)}; "
            "use a preset, which takes what the data set has"
        )
    if system_of(model).reads_texts(model) and not system_of(model).reads_words_too:
        texts = ModelInputs(features=features, num_words=256, word_dim=given.word_dim, max_words=TEXT_BYTES)
        return {"model.inputs": texts.model_dump()}
    words = manifest.vocabulary
    inputs = ModelInputs(
        features=features,
        num_words=words.num_words,
        word_dim=words.word_dim or given.word_dim,
        max_words=manifest.schema.max_words,
    )
    changes: dict[str, Any] = {"model.inputs": inputs.model_dump()}
    trained = system_of(model).trained_vectors(model)
    if words.vectors is None and trained is not None:
        changes[trained] = True
    return changes


def _taken(wanted: Sequence[str], manifest: Manifest) -> dict[str, int]:
    """The features of a data set that the model reads, name to dimension; DatasetError where one is missing."""
    held = {feature.name: feature.dim for feature in manifest.schema.features}
    absent = [name for name in wanted if name not in held]
    if absent:
        raise DatasetError(
            f"{manifest.uri} has {_listed(held)}, and no {absent[0]}, which model.modalities asks for; "
            "name some of these, or leave model.modalities out for all"
        )
    return {name: dim for name, dim in held.items() if not wanted or name in wanted}


def _listed(features: dict[str, int]) -> str:
    return ", ".join(f"{name} {dim}" for name, dim in features.items())
