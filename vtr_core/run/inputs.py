"""What a run takes from its training data: the inputs of its model, concepts, and the tables that its loss needs."""

from collections.abc import Callable, Mapping, Sequence
from shlex import quote
from types import MappingProxyType
from typing import Any

from vtr_core import storage
from vtr_core.config.data_sets import JOINED, ConceptText, OnBadShard, joined_uris
from vtr_core.config.override import ModelInputs, override
from vtr_core.config.run import ModelConfig, TrainConfig, loss_kinds, unfit_loss
from vtr_core.data.captions import training_information
from vtr_core.data.concepts.concept_table import FILE, ConceptTable, TableHead
from vtr_core.data.manifest import Manifest
from vtr_core.data.reading.feature_statistics import absent_features
from vtr_core.data.reading.row_groups import RowGroupReader, training_columns
from vtr_core.data.records.schema import Schema, require_clips, require_frames, require_images, require_videos
from vtr_core.data.shards.shard_file import usable
from vtr_core.encoders.frozen_text import read_record
from vtr_core.errors import CheckpointError, ConfigError, DatasetError, command_line
from vtr_core.storage import Location, locate
from vtr_core.systems.implementation import LossTables
from vtr_core.text.concepts import ConceptNames
from vtr_core.text.tokens.vocabulary import TEXT_BYTES, Vocabulary


def check_parts(config: TrainConfig) -> None:
    """ConfigError unless model and loss fit together, and the requirements of the model's system are met."""
    if not isinstance(config.loss, loss_kinds(config.model)):
        raise ConfigError(unfit_loss(config.model, config.loss.kind))
    config.model.system().check(config)


_LONGEST_VALUE = 200


def check_captions(config: TrainConfig, manifest: Manifest) -> None:
    """DatasetError, with a command that makes suitable data, where captions were not tokenised as the configuration
    asks, or in a way that the model cannot read.
    """
    made = manifest.vocabulary.made or {}
    if made.get("unknown") == "token" and not config.model.system().reads_unknown_words:
        raise DatasetError(
            f"{manifest.uri} has <unk> for unknown words, which {config.model.kind} models do not read; make a data "
            "set without: vtr ingest … --unknown-words dropped"
        )
    differences = _differences(config.captions.asked, {**made, "vectors": manifest.vocabulary.vectors is not None})
    if differences:
        vectors = " --word-vectors FILE" if config.captions.vectors else ""
        raise DatasetError(
            f"{manifest.uri} does not fit {config.preset}: {differences}; make a data set that does with "
            f"{ingest_command(manifest, config.preset)}{vectors}, or train on this one with "
            + " ".join(f"--captions.{name} None" for name in config.captions.asked)
        )


def check_concepts(config: TrainConfig, head: TableHead, uri: str, folder: str) -> None:
    """`check_captions` for the concept table at `uri` of the data in `folder`."""
    made = ConceptText(parts=head.letters, pos=head.pos, stop_words=head.stop_words).asked
    differences = _differences(config.concepts.asked, made)
    if differences:
        raise DatasetError(
            f"the concept table {uri} does not fit {config.preset}: {differences}; make one that does with "
            f"{command_line('concepts', folder, '--preset', config.preset)}, or train with this one with "
            + " ".join(f"--concepts.{name} None" for name in config.concepts.asked)
        )


def ingest_command(manifest: Manifest, preset: str) -> str:
    """The command that would make the data set at `manifest` as `preset` asks."""
    adapter, settings = str(manifest.source.get("adapter", "SOURCE")), manifest.source
    flags = [
        f"--{name.replace('_', '-')} {quote(str(value))}"
        for name, value in settings.items()
        if name not in ("adapter", "split", "ingest", "content_split") and isinstance(value, str | int | float)
        if not isinstance(value, bool) and len(str(value)) <= _LONGEST_VALUE
    ]
    stated = "records" in settings or manifest.schema.kind != "videos" or adapter not in ("msrvtt", "synthetic")
    kind = [] if stated else ["--records videos"]
    return " ".join(["vtr ingest", adapter, *kind, *flags, f"--preset {preset}", "--out FOLDER"])


def _differences(settings: Mapping[str, Any], made: Mapping[str, Any]) -> str:
    """The settings made otherwise than asked; an older data set does not record how it was made."""
    return ", ".join(
        f"{name} is {made.get(name, 'not recorded')} where {value} is asked for"
        for name, value in settings.items()
        if made.get(name) != value
    )


_REQUIRE: Mapping[str, Callable[[Schema, str], object]] = MappingProxyType(
    {"clips": require_clips, "videos": require_videos, "images": require_images, "frames": require_frames}
)


def usable_data(model: ModelConfig, uri: str, on_bad_shard: OnBadShard = "fail") -> Manifest:
    """The manifest of a data set of the records that the model reads; see `usable`."""
    return usable(uri, _REQUIRE[model.system().records(model)], on_bad_shard)


def with_inputs(config: TrainConfig, manifest: Manifest) -> TrainConfig:
    """`config` with the model's inputs taken from the training data, and its sizes from a pretrained source.

    A configuration that already has inputs, as every run's config.json does, must agree with the data: DatasetError.
    Without pretrained word vectors the vocabulary's vectors are trained. ConfigError where the configuration's parts do
    not fit together, DatasetError for data that the system cannot be trained on.
    """
    check_parts(config)
    system = config.model.system()
    system.check_data(manifest)
    check_captions(config, manifest)
    inputs = system.inputs(manifest, config.model) or _features_and_words(config.model, manifest)
    return override(config, {**inputs, **text_encoder_changes(config.model), **system.of_source(config.model)})


def training_reader(model: ModelConfig, manifest: Manifest, extra_captions: int) -> RowGroupReader:
    """A reader of what training needs of a data set's rows for a model with inputs: of features, those that it reads.

    extra_captions: beside its own, for each clip.
    """
    system = model.system()
    columns = training_columns(manifest.schema, extra_captions, system.reads_features(model))
    texts = system.reads_texts(model)
    return RowGroupReader(manifest, columns, system.reads_means(model), texts, texts and system.reads_words_too)


def model_vocabulary(model: ModelConfig, data: Vocabulary) -> Vocabulary:
    """The vocabulary of a model trained on data with the vocabulary `data`: that, texts as bytes, or both."""
    system = model.system()
    if not system.reads_texts(model):
        return data
    return data.with_texts() if system.reads_words_too else Vocabulary.utf8()


def text_encoder_changes(model: ModelConfig) -> dict[str, Any]:
    """The record of the model's text encoder, by the setting's dotted name.

    ConfigError where there is no such encoder, CheckpointError where it is another than a run has recorded.
    """
    setting = model.system().text_encoder if model.system().reads_texts(model) else None
    if setting is None:
        return {}
    record: Any = model
    for name in setting.split(".")[1:]:
        record = getattr(record, name)
    try:
        return {setting: read_record(record).model_dump()}
    except ConfigError as error:
        raise ConfigError(f"{setting}: {error}") from error


def require_features(config: TrainConfig, manifest: Manifest) -> None:
    """DatasetError where a model standardises a feature that no clip has, such as the sound of silent films."""
    if not config.model.system().standardizes(config.model):
        return
    absent = absent_features(manifest)
    for name in config.model.inputs.features:
        if name in absent:
            present = [feature for feature in config.model.inputs.features if feature not in absent]
            leave_out = f"leave it out by --model.modalities {' '.join(present)}, or " if present else ""
            raise DatasetError(
                f"{manifest.uri}: no clip has {name}, which the model standardises; {leave_out}"
                "take features as they are by --model.standardize False"
            )


def _features_and_words(model: ModelConfig, manifest: Manifest) -> dict[str, Any]:
    features = _taken(model.system().takes(model), manifest)
    known = model.inputs
    if known.features and known.features != features:
        raise DatasetError(
            f"{manifest.uri} delivers {_listed(features)}, the configuration was made for {_listed(known.features)}; "
            "use a preset, which takes what the data set has"
        )
    if model.system().reads_texts(model) and not model.system().reads_words_too:
        texts = ModelInputs(features=features, num_words=256, word_dim=known.word_dim, max_words=TEXT_BYTES)
        return {"model.inputs": texts.model_dump()}
    words = manifest.vocabulary
    inputs = ModelInputs(
        features=features,
        num_words=words.num_words,
        word_dim=words.word_dim or known.word_dim,
        max_words=manifest.schema.max_words,
    )
    changes: dict[str, Any] = {"model.inputs": inputs.model_dump()}
    trained = model.system().trained_vectors(model)
    if words.vectors is None and trained is not None:
        changes[trained] = True
    return changes


def _taken(modalities: Sequence[str], manifest: Manifest) -> dict[str, int]:
    """The features of a data set that the model reads, name to dimension; DatasetError where one is missing."""
    dims = {feature.name: feature.dim for feature in manifest.schema.features}
    absent = [name for name in modalities if name not in dims]
    if absent:
        raise DatasetError(
            f"{manifest.uri} has {_listed(dims)}, and no {absent[0]}, which model.modalities asks for; "
            "name some of these, or leave model.modalities out for all"
        )
    return {name: dim for name, dim in dims.items() if not modalities or name in modalities}


def _listed(features: dict[str, int]) -> str:
    return ", ".join(f"{name} {dim}" for name, dim in features.items())


FOLDER = "concepts"


def num_concepts(config: TrainConfig) -> int | None:
    """K of a model with a concept space, else None."""
    return config.model.system().num_concepts(config.model)


def usable_concepts(config: TrainConfig, data: Manifest, folder: str, chosen: str | None) -> str | None:
    """The URI of the concept table of a new run on `data`; None for a model without a concept space.

    chosen: the table that the user names; by default that of `concept_places`.
    Raises DatasetError, with the command that makes one, where there is none, where it was not made from `data`, or
    where it offers too few concepts.
    """
    count = num_concepts(config)
    if count is None:
        return None
    folders = locate(joined_uris(folder)[0]), data.location
    places = concept_places(*folders) if chosen is None else [locate(chosen)]
    place = next((place for place in places if storage.exists(place / FILE)), None)
    if place is None:
        shown = " or ".join(str(place) for place in places)
        made_from = folder.split(JOINED) if chosen is None else [folder, "--out", chosen]
        raise DatasetError(
            f"the model detects {count} concepts, and there is no concept table at {shown}; make one with "
            f"{command_line('concepts', *made_from)}, or give another with --concepts URI"
        )
    table = ConceptTable.load(place.uri)
    table.require(count)
    for uri, fingerprint in (
        data.source["parts"].items() if len(joined_uris(data.uri)) > 1 else [(data.uri, data.fingerprint)]
    ):
        table.require_dataset(uri, fingerprint)
    check_concepts(config, table.head, place.uri, folder)
    return place.uri


def concept_places(*folders: Location) -> list[Location]:
    """Where `vtr concepts` may have put the table for data sets or folders of splits: in them or beside them."""
    places = [place / FOLDER for folder in folders for place in (folder, folder.parent)]
    return list({place.uri: place for place in places}.values())


def concept_table(config: TrainConfig, uri: str | None) -> ConceptTable | None:
    """The concept table of a run; None for a model without a concept space."""
    count = num_concepts(config)
    if count is None:
        return None
    if uri is None:
        raise DatasetError(f"the model detects {count} concepts, but the run has no concept table; start a new run")
    table = ConceptTable.load(uri)
    table.require(count)
    return table


def enough_concepts(base: TrainConfig, uri: str | None) -> Callable[[Mapping[str, Any]], bool]:
    """Whether `base` with some changes asks for no more concepts than the table at `uri` has; None: no concepts."""
    most = None if uri is None else len(ConceptTable.load(uri).names)
    return lambda changes: most is None or (num_concepts(override(base, changes)) or 0) <= most


def names_of(config: TrainConfig, table: ConceptTable | None) -> ConceptNames | None:
    """The concepts of the model: the most frequent ones of the table."""
    count = num_concepts(config)
    return None if table is None or count is None else ConceptNames(table.names[:count], table.fingerprint)


def require_names(detected: ConceptNames | None, names: ConceptNames | None, where: Location) -> None:
    """CheckpointError unless the model of the checkpoint at `where` detects the concepts of the run's labels."""
    if detected == names:
        return
    counts = [0 if concepts is None else len(concepts.names) for concepts in (detected, names)]
    raise CheckpointError(
        f"{where} has a model of {counts[0]} concepts of another concept table than the run's labels of {counts[1]}; "
        "restore that table, or start a new run"
    )


def loss_tables(config: TrainConfig, manifest: Manifest, concepts: ConceptTable | None) -> LossTables:
    """The tables of the captions of `manifest`; `concepts`: the labels of a model with a concept space."""
    margin = config.model.system().granularity(config.loss)
    information = None if margin is None else training_information(manifest, margin.reading)
    return LossTables(concepts, information)
