"""The adapter's torch part: what it takes from data, its model and task, and the concepts it names."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32
from torch import Tensor, nn

from vtr_core.backbones.recipes import RECIPES
from vtr_core.config.losses import InfoNceConfig
from vtr_core.config.override import ModelInputs
from vtr_core.config.pretrained import EncoderRecord
from vtr_core.config.run import EvaluationConfig, TrainConfig
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan import RowGroup
from vtr_core.data.reading.feature_statistics import FeatureStatistics
from vtr_core.embedding.embedded_rows import EmbeddedRows, check_features, check_frames
from vtr_core.encoders.bundled import LITE0
from vtr_core.encoders.encoder import BUNDLED, Encoder, encoder, is_encoder
from vtr_core.encoders.frozen_text import encoder_record
from vtr_core.errors import DatasetError, command_line
from vtr_core.storage.stated_places import stated_by
from vtr_core.systems.adapter.config import AdapterConfig
from vtr_core.systems.adapter.model import Adapter
from vtr_core.systems.clip_space import CLIP_SPACE, clip_task, encode_features, predict, signature
from vtr_core.systems.implementation import Implementation, LossTables
from vtr_core.systems.joint_space import RetrievalTask, frame_task
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.spaces import ConceptTerms, Encoded, JointSpace
from vtr_core.systems.video_space import embed_videos, encode_frames
from vtr_core.text.tokens.vocabulary import TEXT_BYTES, Vocabulary

_LITE = "imagenet-lite"
"""The recipe of the bundled encoder's network, whose rows are its own where they were not rescaled."""


def adapter_inputs(manifest: Manifest, model: AdapterConfig) -> dict[str, Any]:
    """`model.inputs` and `model.encoder` for training on a data set.

    Features of an encoder's recipe are trained with that encoder, others with the text of `model.encoder.name`.
    DatasetError for data without the model's feature, or whose rows are not as the encoder makes them.
    """
    dims = {feature.name: feature.dim for feature in manifest.schema.features}
    if model.feature not in dims:
        held = ", ".join(dims) or "none"
        raise DatasetError(
            f"{manifest.uri} has no feature {model.feature} (it has {held}); name one by --model.feature"
        )
    made_by = made_with(manifest)
    if made_by is not None:
        check_rows(manifest, made_by)
    record = encoder_record(encoder(model.encoder.name) if made_by is None else made_by)
    if made_by is None:
        record = record.model_copy(update={"feature_dim": 0, "classes": 0})
    inputs = ModelInputs(features={model.feature: dims[model.feature]}, num_words=256, max_words=TEXT_BYTES)
    return {"model.inputs": inputs.model_dump(), "model.encoder": record.model_dump()}


def made_with(manifest: Manifest) -> Encoder | None:
    """The encoder whose rows the pictures' features of a data set are, by the recipe that its manifest names."""
    recipes = manifest.source.get("recipes")
    for recipe in recipes if isinstance(recipes, list) else []:
        name = str(recipe.get("name", ""))
        if name == _LITE:
            return encoder(BUNDLED)
        if is_encoder(name):
            with stated_by(manifest.uri):
                return encoder(name)
    return None


def extraction(recipe: str) -> str:
    """The command that extracts a data set's features by a recipe."""
    return command_line("extract", "VIDEOS", "--recipe", recipe, "--captions", "TABLE", "--out", "FOLDER")


def check_made_with(manifest: Manifest, record: EncoderRecord) -> None:
    """DatasetError unless a data set's pictures are the rows of this encoder alone, see `check_rows`."""
    made_by = made_with(manifest)
    if made_by is None or made_by.fingerprint != record.fingerprint or len(_pictures(manifest)) > 1:
        names = ", ".join(_pictures(manifest)) or "no recipe that the data set names"
        raise DatasetError(
            f"{manifest.uri} has features of {names}, not those of the encoder {record.name}; extract them with "
            + extraction(record.name)
        )
    check_rows(manifest, made_by)


def _pictures(manifest: Manifest) -> list[str]:
    """The recipes of a data set that see pictures."""
    sound = {recipe.name for recipe in RECIPES if recipe.modality == "audio"}
    recipes = manifest.source.get("recipes")
    names = [str(recipe.get("name")) for recipe in recipes] if isinstance(recipes, list) else []
    return [name for name in names if name not in sound]


def check_rows(manifest: Manifest, made_by: Encoder) -> None:
    """DatasetError for rows that are not those of the encoder: of other weights or another revision, or rescaled.

    The head of an encoder with named classes needs the rows' own scale: brought to length 1, all classes are as likely.
    """
    again = f"extract it again with {extraction(made_by.name)}"
    assert made_by.recipe is not None, "it made rows of frames"
    stored = next(one for one in manifest.source["recipes"] if one.get("name") in (_LITE, made_by.name))
    ours, revision = made_by.fingerprint, made_by.recipe.revision
    if stored["name"] == _LITE:
        ours = LITE0.sha256
        if manifest.source.get("normalise"):
            raise DatasetError(f"{manifest.uri} has rows of length 1, {made_by.name} needs their own scale: {again}")
    if (stored.get("weights"), stored.get("revision", 1)) != (ours, revision):
        raise DatasetError(
            f"{manifest.uri} has rows by weights {str(stored.get('weights'))[:8]} (revision {stored.get('revision')}), "
            f"{made_by.name} makes those of {ours[:8]} (revision {revision}): {again}"
        )
    if manifest.source.get("pool") == "max":
        raise DatasetError(f"{manifest.uri} has the greatest values of rows, {made_by.name} needs their mean: {again}")


def zero_shot_config(encoder: Encoder) -> TrainConfig:
    """The configuration of the encoder's untrained adapter, for clips whose rows are pooled by their mean."""
    inputs = ModelInputs(features={"video": encoder.feature_dim}, num_words=256, max_words=TEXT_BYTES)
    return TrainConfig(
        preset="adapter",
        model=AdapterConfig(inputs=inputs, encoder=encoder_record(encoder)),
        loss=InfoNceConfig(),
        evaluation=EvaluationConfig(similarity="cosine"),
    )


def _check(config: TrainConfig, manifest: Manifest) -> None:
    """DatasetError for data without the model's feature, or whose rows another extractor made or rescaled."""
    model = config.model
    assert isinstance(model, AdapterConfig)
    if model.frames == "attention":
        check_frames(manifest, model)
    else:
        wanted = dict(model.inputs.features)
        dims = {feature.name: feature.dim for feature in manifest.schema.features}
        if wanted[model.feature] == model.encoder.feature_dim and dims.get(model.feature) == 2 * wanted[model.feature]:
            wanted[model.feature] *= 2  # of mean and deviation a model of the mean takes the mean
        check_features(manifest, wanted)
    if model.encoder.feature_dim:
        check_made_with(manifest, model.encoder)


def _rows(
    model: nn.Module, config: TrainConfig, manifest: Manifest, vocabulary: Vocabulary, places: Sequence[RowGroup]
) -> EmbeddedRows:
    """A row for each caption; rows of a whole video share its vector."""
    assert isinstance(model, Adapter)
    embed_rows = CLIP_SPACE.rows if model.config.frames == "pooled" else embed_videos
    return embed_rows(model, config, manifest, vocabulary, places)


def _arrays(loaded: TrainedModel, videos: Mapping[str, Sequence[Any]]) -> Encoded:
    """Clips given as pooled rows, or whole videos given as rows of frames; the vectors are those of evaluation."""
    assert isinstance(loaded.model, Adapter)
    return (encode_features if loaded.model.config.frames == "pooled" else encode_frames)(loaded, videos)


def _build(
    config: AdapterConfig,
    vectors: np.ndarray | None,  # noqa: ARG001  texts are encoded, not looked up
    statistics: Mapping[str, FeatureStatistics] | None,
) -> Adapter:
    model = Adapter(config)
    if statistics is not None:
        model.load_statistics(statistics[config.feature])
    return model


def _task(config: TrainConfig, rank: int, world: int, tables: LossTables) -> RetrievalTask:
    assert isinstance(config.model, AdapterConfig)
    return (clip_task if config.model.frames == "pooled" else frame_task)(config, rank, world, tables)


def _pretrained(model: nn.Module) -> None:
    """The weights of the encoder's head; those of its text side are named, not copied."""
    assert isinstance(model, Adapter)
    if model.head is not None:
        model.head.load_state_dict(encoder(model.config.encoder.name).head().state_dict())


def _concept_terms(loaded: TrainedModel) -> ConceptTerms | None:
    """z and q of an encoder with named concepts, as long as nothing was trained on top of it."""
    model = loaded.model
    if not isinstance(model, Adapter) or not model.config.encoder.classes or not model.is_zero_shot:
        return None
    config, head = model.config, model.head
    assert head is not None, "an encoder with concepts has a head"

    def concepts(named: Callable[[Tensor], Tensor | None], rows: np.ndarray) -> Float32[np.ndarray, "rows concepts"]:
        with torch.inference_mode():
            values = named(torch.from_numpy(np.array(rows, np.float32)).to(model.device))
        assert values is not None, "a head of classes names concepts"
        return values.cpu().numpy()

    return ConceptTerms(
        config.feature,
        clips=lambda rows: concepts(head.concepts, rows[:, : config.encoder.feature_dim]),
        texts=lambda vectors: concepts(head.text_concepts, vectors),
    )


IMPLEMENTATION = Implementation(
    build=_build,
    task=_task,
    predict=predict,
    signature=signature,
    retrieval=JointSpace(_check, _rows, CLIP_SPACE.queries, arrays=_arrays, concept_terms=_concept_terms),
    pretrained=_pretrained,
)
