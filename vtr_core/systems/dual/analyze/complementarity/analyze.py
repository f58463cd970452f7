"""Entry point of `vtr analyze complementarity`: metrics of every checkpoint, and comparison of related ones."""

from collections.abc import Sequence

from pipelines.analyze.files import write_analysis
from pipelines.evaluation_inputs import device, short_names
from pipelines.report.printed_page import show
from vtr_core.data.manifest import Manifest
from vtr_core.data.records.required_kind import require_videos
from vtr_core.data.shards.checks import usable
from vtr_core.errors import ConfigError
from vtr_core.storage import check_writable, locate
from vtr_core.systems.dual.analyze.analysed_set import AnalysedSet, analysed_set
from vtr_core.systems.dual.analyze.complementarity.command import ComplementarityFlags
from vtr_core.systems.dual.analyze.complementarity.couplings import WayOfTraining, way_of_training
from vtr_core.systems.dual.analyze.complementarity.figures import figures
from vtr_core.systems.dual.analyze.complementarity.findings import Findings, Run
from vtr_core.systems.dual.analyze.complementarity.report import (
    CorrelationCurve,
    compared_vectors,
    component_curve,
    correlation_curves,
    figures_by_space,
    fused_figures,
)
from vtr_core.systems.dual.analyze.complementarity.tables import printed
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
    for name, value in (("captions-per-video", flags.captions_per_video), ("samples", flags.samples)):
        if value is not None and value < 1:
            raise ConfigError(f"vtr analyze complementarity: --{name} is {value}; it must be at least 1")


def _findings(flags: ComplementarityFlags, models: Sequence[LoadedModel], name: str, manifest: Manifest) -> Findings:
    ways = [way_of_training(model.config) for model in models]
    runs: list[Run] = []
    for way in dict.fromkeys(ways):
        group = [model for model, own in zip(models, ways, strict=True) if own == way]
        runs += _runs_of(flags, way, group, name, manifest)
    return Findings(name, runs)


def _runs_of(
    flags: ComplementarityFlags, way: WayOfTraining, models: Sequence[LoadedModel], name: str, manifest: Manifest
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
                way=way.name,
                coupling=way.coupling,
                dims=(way.latent_dim, way.num_concepts),
                checkpoints=(model.uri,),
                figures=figures_by_space(
                    data, encoder.config.concept_similarity, model.config.evaluation.latent_weight
                ),
                components=component_curve(data) if way.latent_dim is not None and number == 0 else None,
                correlations=_correlations(flags, data, encoder),
            )
        )
        if way.coupling == "latent" and number % 2:
            assert before is not None
            runs.append(
                Run(
                    way=f"latent {way.latent_dim} + latent {way.latent_dim}, independent",
                    coupling="independent",
                    dims=(way.latent_dim, way.latent_dim),
                    checkpoints=(models[number - 1].uri, model.uri),
                    figures={"two spaces": fused_figures(before, data)},
                    components=None,
                    correlations=_between(flags, before, data),
                )
            )
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
        latent, concepts, data.caption_video, ridge=flags.ridge, most=flags.samples, seed=flags.seed
    )


def _between(flags: ComplementarityFlags, first: AnalysedSet, second: AnalysedSet) -> Sequence[CorrelationCurve]:
    """Canonical correlations between the latent spaces of two models."""
    a, b = first.with_captions_of(second), second.with_captions_of(first)
    assert a.latent_text is not None and a.latent_video is not None  # noqa: PT018
    assert b.latent_text is not None and b.latent_video is not None  # noqa: PT018
    return correlation_curves(
        (a.latent_text, a.latent_video),
        (b.latent_text, b.latent_video),
        a.caption_video,
        ridge=flags.ridge,
        most=flags.samples,
        seed=flags.seed,
    )
