"""Entry point of `vtr analyze complementarity`: metrics of every checkpoint, and comparison of related ones."""

from collections.abc import Iterator, Mapping, Sequence

from pipelines.analyze.files import write_analysis
from pipelines.evaluation_inputs import device, short_names
from pipelines.report.printed_page import show
from vtr_core.data.manifest import Manifest
from vtr_core.data.records.required_kind import require_videos
from vtr_core.data.shards.checks import usable
from vtr_core.errors import ConfigError
from vtr_core.storage import check_writable, locate
from pipelines.systems.dual.analyze.analysed_set import AnalysedSet, analysed_set
from pipelines.systems.dual.analyze.complementarity.command import ComplementarityFlags
from pipelines.systems.dual.analyze.complementarity.couplings import (
    WayOfTraining,
    names_of,
    studies_of,
    way_of_training,
)
from pipelines.systems.dual.analyze.complementarity.figures import figures
from pipelines.systems.dual.analyze.complementarity.findings import Findings, Run
from pipelines.systems.dual.analyze.complementarity.report import (
    CorrelationCurve,
    compared_vectors,
    component_curve,
    correlation_curves,
    figures_by_space,
    fused_correlations,
    fused_figures,
)
from pipelines.systems.dual.analyze.complementarity.settings import origin_of
from pipelines.systems.dual.analyze.complementarity.tables import printed
from vtr_core.systems.dual.model import HybridEncoder
from vtr_core.systems.dual.rows import dual_encoder, embed_dual
from vtr_core.train.checkpoint.load import LoadedModel, load_model


def analyze(flags: ComplementarityFlags) -> Findings:
    """Evaluates every checkpoint, compares those that belong together, and writes and logs the results."""
    _check(flags)
    check_writable(locate(flags.out))
    manifest = usable(flags.data, require_videos)
    (name,) = short_names([manifest])
    models = [load_model(uri, device()) for uri in flags.checkpoints]
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
