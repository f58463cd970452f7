"""`vtr evaluate CHECKPOINT --data URI…`: retrieval on data sets, in one joint space or a dual encoder's spaces."""

from collections.abc import Callable, Sequence

import numpy as np

from pipelines.evaluate.evaluation_flags import (
    EvaluateFlags,
    RowsRead,
    SimilarityName,
    device,
    short_names,
)
from pipelines.evaluate.retrieval_figures import PLAIN, Result, Variant, intervals, log, printed
from pipelines.report.figures import show
from pipelines.systems.registry import SYSTEMS
from vtr_core import storage
from vtr_core.config.override import override
from vtr_core.config.run import EvaluationConfig
from vtr_core.data.concepts.concept_table import FILE, ConceptTable
from vtr_core.data.manifest import Manifest, data_set
from vtr_core.data.plan import row_groups
from vtr_core.data.records.schema import require_clips
from vtr_core.embedding.embedded_rows import EmbeddedRows, model_fingerprint
from vtr_core.embedding.rankings import (
    AUDIO,
    VIDEO,
    Protocol,
    Relevant,
    evaluate_retrieval,
    rankings,
    with_audio_alone,
)
from vtr_core.encoders.encoder import source_of
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.fingerprint import short
from vtr_core.retrieval.embed.stored_embeddings import load_embeddings, read_embeddings
from vtr_core.retrieval.evaluate.protocols import (
    Bank,
    SameCaption,
    best_captions,
    caption_keys,
    check_bank,
    embed_bank,
    evaluate_dual_softmax,
    evaluate_query_bank,
    sample_captions,
)
from vtr_core.run.inputs import usable_data
from vtr_core.similarity import SimilarityKind
from vtr_core.storage import locate
from vtr_core.systems.spaces import DualSpaces, QuerySubset, SpaceFigures, embed_rows, spaces_of
from vtr_core.train.checkpoint.trained_model import ENCODER, LoadedModel, read_model

EvaluateSet = Callable[[str, Manifest], Result]
"""(name, data set) → its metrics."""


def embedded_rows(loaded: LoadedModel, manifest: Manifest, stored: Sequence[str] = ()) -> EmbeddedRows:
    """The data set's embeddings, from those of `stored` that are of it, else computed, with a bar of their progress."""
    for uri in stored:
        embeddings = load_embeddings(uri)
        if embeddings.data_fingerprint == manifest.fingerprint:
            embeddings.check(model_fingerprint(loaded.model), manifest, uri)
            return read_embeddings(embeddings, uri)
    with RowsRead(manifest) as read:
        return embed_rows(loaded.model, loaded.config, manifest, loaded.vocabulary, read.watch(row_groups(manifest)))


def check_stored(stored: Sequence[str], manifests: Sequence[Manifest]) -> None:
    """DatasetError for embeddings of none of the evaluated data sets."""
    for uri in stored:
        embeddings = load_embeddings(uri)
        if all(manifest.fingerprint != embeddings.data_fingerprint for manifest in manifests):
            raise DatasetError(
                f"{uri} holds embeddings of {embeddings.data} ({short(embeddings.data_fingerprint)}), which is none of "
                "--data or was ingested again; run vtr embed again"
            )


_REMARKS = {
    "matrix": "each space rescaled by the lowest and highest of all scores: every figure depends on the whole test set",
    "query": "each space rescaled by the lowest and highest score of the query",
    "train": "each space rescaled by the lowest and highest scores of training batches",
}


def _dual_settings(loaded: LoadedModel, flags: EvaluateFlags) -> EvaluationConfig:
    """The run's settings, changed by the command's; ConfigError for flags of other models."""
    for name in ("similarity", "normalize", "query_bank", "aggregate", "relevant", "missing_audio"):
        if getattr(flags, name) != getattr(EvaluateFlags, name):
            raise ConfigError(
                f"vtr evaluate: --{name.replace('_', '-')} is not for a dual encoder, whose spaces have similarities "
                "of their own, and figures of each alone anyway; it has --latent-weight and --rescale"
            )
    changes = {"latent_weight": flags.latent_weight, "normalise": flags.rescale}
    return override(loaded.config.evaluation, {name: v for name, v in changes.items() if v is not None})


def _ambiguous(flags: EvaluateFlags, manifests: Sequence[Manifest]) -> QuerySubset:
    """The ambiguous captions according to the concept table; DatasetError where the table lacks a data set."""
    folder = manifests[0].uri.rstrip("/")
    beside = [locate(folder) / "concepts", locate(folder.rpartition("/")[0] or "/") / "concepts"]
    place = next((place.uri for place in beside if storage.exists(place / FILE)), beside[-1].uri)
    table = ConceptTable.load(flags.concepts or place)
    for manifest in manifests:
        table.require_dataset(manifest.uri, manifest.fingerprint)
    return QuerySubset("ambiguous", table.counts.ambiguous)


def _variant(figures: SpaceFigures, evaluation: EvaluationConfig, sampled: bool) -> Variant:
    """The metrics in a space; for the hybrid score with its settings, for sampled queries with intervals."""
    name, title, remark = PLAIN, "", ""
    if figures.space == "hybrid":
        title = f"α = {evaluation.latent_weight:g}, rescaled by {evaluation.normalise}"
        remark = _REMARKS[evaluation.normalise]
    if figures.queries != "all":
        name, title, remark = figures.queries, f"{figures.queries} queries and their videos alone", ""
    if sampled:
        title = "; ".join(filter(None, [title, "sampled queries"]))
        remark = "; ".join(filter(None, [remark, intervals(figures.directions)]))
    return Variant(figures.space, name, title, remark, figures.directions)


def evaluate(flags: EvaluateFlags) -> list[Result]:
    """Evaluate, print tables for each data set, and log all metrics as one run of the experiment."""
    _check(flags)
    manifests = [Manifest.load(uri) for uri in flags.data]
    bank_data = None if flags.query_bank is None else Manifest.load(data_set(flags.query_bank, "train"))
    if bank_data is not None:
        require_clips(bank_data.schema, bank_data.uri)
        check_bank(bank_data, manifests)
    loaded = read_model(_model(flags), SYSTEMS, device())
    space = spaces_of(loaded, "retrieval")
    evaluation = _dual_settings(loaded, flags) if isinstance(space, DualSpaces) else None
    if evaluation is None:
        _check_single_space(flags, loaded)
    manifests = [usable_data(loaded.config.model, uri) for uri in flags.data]
    for manifest in manifests:
        space.check(loaded.config, manifest)
    check_stored(flags.embeddings, manifests)
    if isinstance(space, DualSpaces) and evaluation is not None:
        evaluate_set, settings = _dual(loaded, space, flags, evaluation, manifests)
    else:
        evaluate_set, settings = _joint(loaded, flags, bank_data)
    results = []
    for name, manifest in zip(short_names(manifests), manifests, strict=True):
        results.append(evaluate_set(name, manifest))
        show(printed(results[-1], loaded.uri))
    log(flags.experiment, loaded, results, settings, flags.out)
    return results


def _dual(
    loaded: LoadedModel,
    spaces: DualSpaces,
    flags: EvaluateFlags,
    evaluation: EvaluationConfig,
    manifests: Sequence[Manifest],
) -> tuple[EvaluateSet, dict[str, object]]:
    """The evaluation of a data set by a dual encoder, and the settings that the metrics depend on."""
    subset = None if flags.queries == "all" else _ambiguous(flags, manifests)

    def evaluate_set(name: str, manifest: Manifest) -> Result:
        rows = embedded_rows(loaded, manifest, flags.embeddings)
        figures = spaces.figures(loaded, manifest, evaluation, subset, rows, flags.query_sample)
        variants = [_variant(of_space, evaluation, flags.query_sample is not None) for of_space in figures]
        return Result(name, manifest, variants[0].similarity, variants)

    return evaluate_set, {
        "latent_weight": evaluation.latent_weight,
        "normalise": evaluation.normalise,
        "concept_similarity": spaces.concept_similarity(loaded.config),
        "queries": flags.queries,
        **flags.sampled,
    }


def _joint(
    loaded: LoadedModel, flags: EvaluateFlags, bank_data: Manifest | None
) -> tuple[EvaluateSet, dict[str, object]]:
    """The evaluation of a data set in one joint space, and the settings that the metrics depend on."""
    config = loaded.config
    kinds = similarities(flags.similarity, config.evaluation.similarity)
    bank = None if bank_data is None else _bank(loaded, bank_data, flags)
    protocol = Protocol.of(config, kinds[0])

    def evaluate_set(name: str, manifest: Manifest) -> Result:
        rows = embedded_rows(loaded, manifest, flags.embeddings)
        if not rankings(rows):
            features = ", ".join(config.model.inputs.features)
            raise DatasetError(f"{manifest.uri}: no clip has any of the features {features}")
        relevant = None if flags.relevant == "own" else SameCaption(rows, caption_keys(manifest))
        variants = [variant for kind in kinds for variant in _variants(rows, kind, flags, bank, relevant)]
        return Result(name, manifest, kinds[0], variants, protocol, flags.relevant)

    return evaluate_set, {**_settings(flags, kinds), **protocol.flat()}


def _model(flags: EvaluateFlags) -> str:
    """The checkpoint, or the encoder as one."""
    if flags.encoder is None and flags.checkpoint is not None:
        return flags.checkpoint
    if flags.encoder is None or flags.checkpoint is not None:
        raise ConfigError("vtr evaluate: give a checkpoint, or --encoder NAME")
    name = flags.encoder.removeprefix(ENCODER)
    source_of(name)
    return f"{ENCODER}{name}"


def similarities(requested: Sequence[SimilarityName], trained: SimilarityKind) -> list[SimilarityKind]:
    """The similarities to report, without duplicates. The first is the main one, whose metrics have the plain names.

    The main similarity is that of training where requested, else the first requested one.
    """
    every: tuple[SimilarityKind, ...] = ("dot", "cosine", "neg_euclidean")
    kinds: list[SimilarityKind] = []
    for name in requested or (trained,):
        kinds.extend([trained, *every] if name == "all" else [name])
    if trained in kinds:
        kinds.insert(0, trained)
    return list(dict.fromkeys(kinds))


def _check(flags: EvaluateFlags) -> None:
    if ("query_bank" in flags.normalize) != (flags.query_bank is not None):
        raise ConfigError(
            "vtr evaluate: --normalize query_bank and --query-bank URI go together; "
            "the URI is a data set that is not evaluated, such as the training data"
        )
    reworked = flags.normalize or flags.aggregate != "none"
    if flags.sample_queries is not None and (reworked or flags.missing_audio != "video"):
        raise ConfigError(
            "vtr evaluate: --sample-queries is for plain retrieval; leave out --normalize, --aggregate and "
            "--missing-audio"
        )
    if flags.relevant != "own" and reworked:
        raise ConfigError(
            "vtr evaluate: --relevant same-caption is for plain retrieval; leave out --normalize and --aggregate"
        )
    for name in ("sample_queries", "dual_softmax_temperature", "query_bank_temperature", "bank_size"):
        value = getattr(flags, name)
        if value is not None and not value > 0:
            raise ConfigError(f"vtr evaluate: --{name.replace('_', '-')} is {value}; it must be greater than 0")


def _check_single_space(flags: EvaluateFlags, loaded: LoadedModel) -> None:
    """ConfigError for a flag of dual encoders, whose two spaces the model lacks."""
    for name in ("queries", "latent_weight", "rescale", "concepts"):
        if getattr(flags, name) != getattr(EvaluateFlags, name):
            raise ConfigError(
                f"vtr evaluate: --{name.replace('_', '-')} is for dual encoders, which have a latent and a concept "
                f"space; leave it out for a {loaded.config.model.kind!r} model"
            )


def _bank(loaded: LoadedModel, manifest: Manifest, flags: EvaluateFlags) -> Bank:
    config = loaded.config
    if config.model.system().records(config.model) == "videos":
        raise ConfigError(f"vtr evaluate: --query-bank is for models of clips, not for {config.model.kind!r}")
    captions = sample_captions(manifest, flags.bank_size, flags.bank_seed)
    return embed_bank(
        loaded.model,
        config.model.inputs.features,
        loaded.vocabulary,
        manifest,
        captions,
        config.evaluation.batch_rows,
    )


def _variants(
    rows: EmbeddedRows, kind: SimilarityKind, flags: EvaluateFlags, bank: Bank | None, relevant: Relevant | None
) -> list[Variant]:
    """The plain metrics, then retrieval by captions together, then test-time normalisation."""
    if flags.query_sample is not None:
        directions = evaluate_retrieval(rows, kind, flags.query_sample, relevant)
        return [Variant(kind, "plain", "sampled queries", intervals(directions), directions)]
    variants = [Variant(kind, "plain", "", "", evaluate_retrieval(rows, kind, relevant=relevant))]
    if flags.missing_audio == "miss":
        heard = with_audio_alone(rows)
        silent = np.unique(rows.clip_key[rows.present[VIDEO] & ~rows.present[AUDIO]])
        directions = evaluate_retrieval(heard, kind, relevant=relevant)
        remark = f"{len(silent):,} clips have none"
        variants.append(Variant(kind, "missing_audio", "clips without audio as failures", remark, directions))
    if flags.aggregate == "captions":
        remark = "a video searches for videos by their words; similarity of the best of a video's captions"
        variants.append(
            Variant(kind, "best_captions", "videos by their best caption", remark, best_captions(rows, kind))
        )
    if "dual_softmax" in flags.normalize:
        temperature = flags.dual_softmax_temperature
        remark = f"every figure depends on all test queries (temperature {temperature:g})"
        directions = evaluate_dual_softmax(rows, kind, temperature)
        variants.append(Variant(kind, "dual_softmax", "dual softmax", remark, directions))
    if bank is not None:
        temperature = flags.query_bank_temperature
        remark = f"figures depend on {len(bank.vectors)} captions of {bank.uri} (temperature {temperature:g})"
        variants.append(
            Variant(kind, "query_bank", "query bank", remark, evaluate_query_bank(rows, kind, bank, temperature))
        )
    return variants


def _settings(flags: EvaluateFlags, kinds: Sequence[SimilarityKind]) -> dict[str, object]:
    """The settings that the metrics depend on beside checkpoint and data, for the tracked run."""
    settings: dict[str, object] = {
        "similarity": kinds[0],
        "similarities": " ".join(kinds),
        "aggregate": flags.aggregate,
        "relevant": flags.relevant,
        "missing_audio": flags.missing_audio,
        "normalize": " ".join(flags.normalize) or "none",
    }
    settings.update(flags.sampled)
    if "dual_softmax" in flags.normalize:
        settings["dual_softmax_temperature"] = flags.dual_softmax_temperature
    if flags.query_bank is not None:
        settings.update(
            query_bank=flags.query_bank,
            bank_size=flags.bank_size,
            bank_seed=flags.bank_seed,
            query_bank_temperature=flags.query_bank_temperature,
        )
    return settings
