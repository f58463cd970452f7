"""Entry point of `vtr analyze complementarity`: metrics of checkpoints, comparison of related ones."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, assert_never

from pipelines.evaluation_inputs import device, short_names
from pipelines.report.logged_run import write_analysis
from pipelines.report.printed_page import show
from pipelines.systems.dual.analysed_set import AnalysedSet, analysed_set
from pipelines.systems.dual.complementarity import ComplementarityFlags
from pipelines.systems.dual.complementarity_figures import figures, printed
from pipelines.systems.dual.complementarity_findings import (
    CorrelationCurve,
    Findings,
    Run,
    compared_vectors,
    component_curve,
    correlation_curves,
    figures_by_space,
    fused_correlations,
    fused_figures,
)
from pipelines.systems.registry import SYSTEMS
from vtr_core.data.manifest import Manifest
from vtr_core.data.records.schema import require_videos
from vtr_core.data.shards.shard_file import usable
from vtr_core.errors import CheckpointError, ConfigError
from vtr_core.fingerprint import fingerprint
from vtr_core.run.config import TrainConfig
from vtr_core.storage import check_writable, locate
from vtr_core.systems.dual.config import DualTripletConfig, HybridEncoderConfig
from vtr_core.systems.dual.dual_embeddings import dual_encoder, embed_dual
from vtr_core.systems.dual.model import HybridEncoder
from vtr_core.train.checkpoint.trained_model import LoadedModel, read_model

Settings: TypeAlias = tuple[tuple[str, str], ...]
"""Dotted names of settings and their values as JSON."""
_NO_SETTING = ("seed", "preset", "scaling")
"""Trainings of one ensemble differ in the seed. A preset is a name for settings, and any number of workers computes the
same loss.
"""
_SIZES = ("model.latent_dim", "model.num_concepts", "trained with concepts")
_ORIGIN = {"data.fingerprint": "trained on data", "init": "initial weights"}
_SHOWN = 3


def settings_of(config: TrainConfig, origin: Mapping[str, str] | None = None) -> Settings:
    """All settings but the seed; origin: what else a training begins with, by name."""
    values = {name: value for name, value in config.model_dump(mode="json").items() if name not in _NO_SETTING}
    flat = {name: json.dumps(value) for name, value in _flat(values, "")}
    return tuple(sorted({**flat, **(origin or {})}.items()))


def origin_of(loaded: LoadedModel) -> dict[str, str]:
    """The data, the initial weights and the concepts that a model was trained with, as far as they are known."""
    found = {name: str(loaded.provenance[key]) for key, name in _ORIGIN.items() if loaded.provenance.get(key)}
    return {**found, **({"trained with concepts": fingerprint(loaded.concepts)} if loaded.concepts else {})}


def without_sizes(settings: Settings) -> Settings:
    """Settings but for the dimensions of the spaces: those that a dimension study keeps."""
    return tuple((name, value) for name, value in settings if name not in _SIZES)


def what_differs(alike: Sequence[Settings]) -> list[str]:
    """For each of several settings the values that not all of them have, " [loss.labels binary]"; "" for a single one.

    At most three are shown; a number tells apart what is then still named alike.
    """
    if len(alike) < 2:
        return [""] * len(alike)
    known = [dict(one) for one in alike]
    names = sorted({name for one in known for name in one if len({other.get(name) for other in known}) > 1})
    texts = [_text(one, names) for one in known]
    return [
        f" [{text}]" if texts.count(text) == 1 else f" [{text}; settings {number}]"
        for number, text in enumerate(texts, 1)
    ]


def _text(settings: Mapping[str, str], names: Sequence[str]) -> str:
    shown = [f"{name} {_value(settings.get(name))}" for name in names[:_SHOWN]]
    return ", ".join([*shown, *([f"and {len(names) - _SHOWN} more"] if len(names) > _SHOWN else [])])


def _value(value: str | None) -> str:
    """A value as a person types it; long ones are fingerprints."""
    plain = "none" if value in (None, "null") else str(value).strip('"')
    return plain if len(plain) < 30 else plain[:7]


def _flat(values: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


Coupling = Literal[
    "latent",
    "concept",
    "coupled homogeneous",
    "coupled heterogeneous",
    "coupled homogeneous + concept",
    "coupled heterogeneous + concept",
]


@dataclass(frozen=True)
class WayOfTraining:
    """What trainings share that differ in nothing but the seed."""

    coupling: Coupling
    latent_dim: int | None
    num_concepts: int | None
    settings: Settings

    @property
    def spaces(self) -> str:
        """The spaces and their coupling, for tables; ways with other settings may have the same."""
        match self.coupling:
            case "latent":
                return f"latent {self.latent_dim}"
            case "concept":
                return f"concept {self.num_concepts}"
            case "coupled homogeneous" | "coupled heterogeneous":
                return f"latent {self.latent_dim} + latent {self.num_concepts}, {self.coupling}"
            case "coupled homogeneous + concept" | "coupled heterogeneous + concept":
                coupled = self.coupling.removesuffix(" + concept")
                return f"latent {self.latent_dim} + concept {self.num_concepts}, {coupled}"
            case _:
                assert_never(self.coupling)


def names_of(ways: Sequence[WayOfTraining]) -> dict[WayOfTraining, str]:
    """A name of its own for every way: its spaces, and where others have the same ones the settings that differ."""
    return _told_apart({way: (way.spaces, way.settings) for way in ways})


def studies_of(ways: Sequence[WayOfTraining]) -> dict[WayOfTraining, str]:
    """For every way what tells its dimension study from others of the same spaces: settings other than dimensions."""
    named = _told_apart({way: (way.coupling, without_sizes(way.settings)) for way in ways})
    return {way: name.removeprefix(way.coupling) for way, name in named.items()}


def _told_apart(ways: Mapping[WayOfTraining, tuple[str, Settings]]) -> dict[WayOfTraining, str]:
    """Names of ways; equal settings have the same name, and others of that name have what differs behind it."""
    found = {}
    for way, (name, settings) in ways.items():
        alike = list(dict.fromkeys(other for known, other in ways.values() if known == name))
        found[way] = name + what_differs(alike)[alike.index(settings)]
    return found


def way_of_training(config: TrainConfig, origin: Mapping[str, str] | None = None) -> WayOfTraining:
    """The way of training of a run's configuration; CheckpointError if it is not a dual encoder's.

    origin: what else the training began with, such as its data.

    Two spaces are homogeneous where both are compared by a cosine. A space of concepts that is trained without their
    detection (concept_weight 0) is a second latent space (thesis, section 4.4).
    """
    model, loss = config.model, config.loss
    if not isinstance(model, HybridEncoderConfig) or not isinstance(loss, DualTripletConfig):
        raise CheckpointError(
            f"the checkpoint is of a {model.kind!r} model trained with {loss.kind!r}; this needs a 'hybrid_encoder' "
            "trained with 'dual_triplet', such as vtr train hybrid-msrvtt makes"
        )
    return WayOfTraining(_coupling(model, loss), model.latent_dim, model.num_concepts, settings_of(config, origin))


def _coupling(model: HybridEncoderConfig, loss: DualTripletConfig) -> Coupling:
    if model.num_concepts is None:
        return "latent"
    if model.latent_dim is None:
        return "concept"
    homogeneous, detects = model.concept_similarity == "cosine", loss.concept_weight != 0
    match homogeneous, detects:
        case True, False:
            return "coupled homogeneous"
        case False, False:
            return "coupled heterogeneous"
        case True, True:
            return "coupled homogeneous + concept"
        case _:
            return "coupled heterogeneous + concept"


def analyze(flags: ComplementarityFlags) -> Findings:
    """Evaluates every checkpoint, compares those that belong together, and writes and logs the results."""
    _check(flags)
    check_writable(locate(flags.out))
    manifest = usable(flags.data, require_videos)
    (name,) = short_names([manifest])
    models = [read_model(uri, SYSTEMS, device()) for uri in flags.checkpoints]
    found = _findings(flags, models, name, manifest)
    parts = printed(found)
    show(parts)
    settings = {
        "ridge": flags.ridge,
        "samples": flags.samples,
        "pairs": flags.pairs,
        "captions_per_video": flags.captions_per_video,
        "seed": flags.seed,
    }
    write_analysis(
        "complementarity", flags.out, flags.experiment, models, {name: manifest},
        found.to_json(), found.metrics(), parts, figures(found), settings,
    )  # fmt: skip
    return found


def _check(flags: ComplementarityFlags) -> None:
    if not flags.checkpoints:
        raise ConfigError("vtr analyze complementarity: give at least one checkpoint")
    if len(set(flags.checkpoints)) != len(flags.checkpoints):
        raise ConfigError("vtr analyze complementarity: a checkpoint is given twice; each counts as a run of its own")
    if not 0 <= flags.ridge < float("inf"):
        raise ConfigError(f"vtr analyze complementarity: --ridge is {flags.ridge}; it must be a number of 0 or more")
    for name, value in (
        ("captions-per-video", flags.captions_per_video),
        ("samples", flags.samples),
        ("pairs", flags.pairs),
    ):
        if value is not None and value < 1:
            raise ConfigError(f"vtr analyze complementarity: --{name} is {value}; it must be at least 1")


def _findings(flags: ComplementarityFlags, models: Sequence[LoadedModel], name: str, manifest: Manifest) -> Findings:
    ways = [way_of_training(model.config, origin_of(model)) for model in models]
    _check_seeds(ways, models)
    names, studies = names_of(ways), studies_of(ways)
    runs: list[Run] = []
    for way in dict.fromkeys(ways):
        group = [model for model, own in zip(models, ways, strict=True) if own == way]
        runs += _runs_of(flags, way, names[way], studies[way], group, name, manifest)
    return Findings(name, [*runs, *_mixed(flags, dict(_single(ways, models)), name, manifest)])


def _check_seeds(ways: Sequence[WayOfTraining], models: Sequence[LoadedModel]) -> None:
    """ConfigError where two trainings differ in nothing, not even the seed: their mean would be one over seeds."""
    seen: dict[tuple[WayOfTraining, int], str] = {}
    for way, model in zip(ways, models, strict=True):
        key = way, model.config.seed
        if key in seen:
            raise ConfigError(
                f"vtr analyze complementarity: {seen[key]} and {model.uri} have the same settings and the same seed, "
                f"{model.config.seed}; a mean over seeds takes one checkpoint of each, so leave one of them out"
            )
        seen[key] = model.uri


def _single(
    ways: Sequence[WayOfTraining], models: Sequence[LoadedModel]
) -> Iterator[tuple[WayOfTraining, list[LoadedModel]]]:
    """The ways of training a single space, with their models."""
    for way in dict.fromkeys(ways):
        if way.coupling in ("latent", "concept"):
            yield way, [model for model, own in zip(models, ways, strict=True) if own == way]


def _mixed(
    flags: ComplementarityFlags, single: Mapping[WayOfTraining, list[LoadedModel]], name: str, manifest: Manifest
) -> list[Run]:
    """Fusions of independent latent and concept spaces, the n-th trainings of each with the hybrid's weight; none in a
    dimension study, where one space has several sizes.
    """
    latent = [way for way in single if way.coupling == "latent"]
    concept = [way for way in single if way.coupling == "concept"]
    if len(latent) != 1 or len(concept) != 1:
        return []
    first_way, second_way = latent[0], concept[0]
    return [
        _fusion(
            flags,
            f"latent {first_way.latent_dim} + concept {second_way.num_concepts}, independent",
            (first_way.latent_dim, second_way.num_concepts),
            (first, second),
            (_read(flags, first, name, manifest), _read(flags, second, name, manifest)),
            first.config.evaluation.latent_weight,
        )
        for first, second in zip(single[first_way], single[second_way], strict=False)
    ]


def _fusion(
    flags: ComplementarityFlags,
    way: str,
    dims: tuple[int | None, int | None],
    models: tuple[LoadedModel, LoadedModel],
    sets: tuple[AnalysedSet, AnalysedSet],
    first_weight: float,
) -> Run:
    """Two separately trained spaces whose scores are added."""
    similarity = dual_encoder(models[1]).config.concept_similarity
    return Run(
        way=way,
        coupling="independent",
        dims=dims,
        checkpoints=(models[0].uri, models[1].uri),
        figures={"two spaces": fused_figures(*sets, first_weight, similarity)},
        components=None,
        correlations=fused_correlations(
            *sets, similarity, ridge=flags.ridge, most=flags.samples, top=flags.pairs, seed=flags.seed
        ),
    )


def _runs_of(
    flags: ComplementarityFlags,
    way: WayOfTraining,
    way_name: str,
    study: str,
    models: Sequence[LoadedModel],
    name: str,
    manifest: Manifest,
) -> list[Run]:
    """The trainings of one way, and fused pairs of them if they have a latent space only.

    Embeddings of at most two models are in memory at a time.
    """
    runs, before = [], None
    for number, model in enumerate(models):
        data = _read(flags, model, name, manifest)
        encoder = dual_encoder(model)
        runs.append(
            Run(
                way=way_name,
                coupling=way.coupling,
                dims=(way.latent_dim, way.num_concepts),
                checkpoints=(model.uri,),
                figures=figures_by_space(
                    data, encoder.config.concept_similarity, model.config.evaluation.latent_weight
                ),
                components=component_curve(data) if way.latent_dim is not None and number == 0 else None,
                correlations=_correlations(flags, data, encoder),
                study=study,
            )
        )
        if way.coupling == "latent" and number % 2:
            assert before is not None
            fused = f"latent {way.latent_dim} + latent {way.latent_dim}, independent{way_name.removeprefix(way.spaces)}"
            dims = (way.latent_dim,) * 2
            runs.append(_fusion(flags, fused, dims, (models[number - 1], model), (before, data), 0.5))
        before = data
    return runs


def _read(flags: ComplementarityFlags, model: LoadedModel, name: str, manifest: Manifest) -> AnalysedSet:
    data = analysed_set(name, embed_dual(model, manifest))
    return data if flags.captions_per_video is None else data.few_captions(flags.captions_per_video, flags.seed)


def _correlations(flags: ComplementarityFlags, data: AnalysedSet, encoder: HybridEncoder) -> Sequence[CorrelationCurve]:
    """Canonical correlations between the two spaces of one model, as the similarity compares them; none for a single
    space.
    """
    if data.latent_text is None or data.latent_video is None or data.concept_text is None:
        return []
    concepts = compared_vectors(data.concept_space(encoder.config.concept_similarity))
    latent = data.latent_text, data.latent_video
    return correlation_curves(
        latent, concepts, data.caption_video, ridge=flags.ridge, most=flags.samples, top=flags.pairs, seed=flags.seed
    )
