"""Entry point of `vtr analyze causality`: search of the transform, test metrics, figures, report."""

import time
from collections.abc import Sequence
from typing import assert_never

from pipelines.evaluation_inputs import device, short_names
from pipelines.report.logged_run import write_analysis
from pipelines.report.printed_page import show
from pipelines.systems.dual.analysed_set import AnalysedSet, analysed_set
from pipelines.systems.dual.causality import CausalityFlags
from pipelines.systems.dual.causality_figures import figures, printed
from pipelines.systems.dual.causality_findings import (
    DetectorFindings,
    Findings,
    SearchFindings,
    Wider,
    curves_by_set,
    detector_fates,
    histogram,
    inferences,
    split_report,
    swept_curves,
    swept_top_k,
    top_k_precision,
)
from pipelines.systems.registry import SYSTEMS
from tune_spaces.trial_search import tune_transforms
from vtr_core import storage
from vtr_core.analysis.transform_search import (
    LatentPart,
    Measured,
    TransformObjective,
    allowed,
    coordinate_search,
    pareto_front,
    thesis_search,
)
from vtr_core.analysis.transforms import ConceptSpace, Transform
from vtr_core.data.concepts.concept_table import FILE, ConceptTable
from vtr_core.data.manifest import Manifest
from vtr_core.data.records.schema import require_videos
from vtr_core.data.shards.shard_file import usable
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.storage import check_writable, locate
from vtr_core.systems.dual.dual_embeddings import dual_encoder, embed_dual
from vtr_core.train.checkpoint.trained_model import ENCODER, LoadedModel, read_model
from vtr_core.train.training_labels import concept_places

ENOUGH = 0.72
"""C@10 on the validation data: the goal of 0.7, and as much more as other data may have less."""


def search_transform(
    flags: CausalityFlags, data: AnalysedSet, space: ConceptSpace, latent_weight: float
) -> SearchFindings:
    """The transform that `flags.search` finds on a data set, on a sample of its captions if the flags say so."""
    part = space if flags.captions_per_video is None else space.few_captions(flags.captions_per_video, flags.seed)
    latent = None
    if flags.score == "hybrid":
        if data.latent_scores is None or len(part.text) != len(space.text):
            raise ConfigError(
                "vtr analyze causality: --score hybrid needs a model with a latent space, and all captions: leave out "
                "--captions-per-video"
            )
        latent = LatentPart(data.latent_scores, latent_weight)
    objective = TransformObjective(part, latent=latent, seed=flags.seed)
    started = time.monotonic()
    wider = Wider()
    match flags.search:
        case "coordinate":
            best = coordinate_search(
                objective,
                objective.identity,
                tolerance=flags.tolerance,
                keep_map=flags.keep_map,
                enough=flags.enough,
            ).best
        case "thesis":
            best = thesis_search(objective, objective.identity, flat=flags.tolerance).best
            wider = _wider(objective, flags.tolerance)
        case "tune":
            tune_transforms(objective, space.similarity, flags.points, flags.seed)
            best = _most_causal(objective, flags)
        case _:
            assert_never(flags.search)
    return SearchFindings(
        kind=flags.search,
        score=flags.score,
        tolerance=flags.tolerance,
        keep_map=flags.keep_map,
        enough=flags.enough,
        start=objective(objective.identity),
        best=best,
        wider=wider,
        front=pareto_front(objective.measured),
        measured=objective.measured,
        captions=len(part.text),
        videos=len(part.video),
        seconds=time.monotonic() - started,
    )


def _wider(objective: TransformObjective, tolerance: float) -> Wider:
    """All parameters together: as accurate as can be, and as causal as can be for the accuracy as trained, which is
    held by the mean or by the interval of the difference; and as accurate as can be with `ENOUGH` causality.
    """
    start = objective.identity
    joint = coordinate_search(objective, start, tolerance=tolerance)
    causal = coordinate_search(objective, start, tolerance=1.0)
    enough = coordinate_search(objective, start, tolerance=1.0, enough=ENOUGH, also=objective.measured)
    kept = coordinate_search(objective, start, tolerance=1.0, keep_map="interval", also=objective.measured)
    return Wider(joint.best, causal.best, kept.best, enough.best)


def _most_causal(objective: TransformObjective, flags: CausalityFlags) -> Measured:
    """The most causal of the measured transforms that are allowed, up to enough causality; then the most accurate."""
    measured, start = objective.measured, objective(objective.identity)
    found = [one for one in measured if allowed(one, start, measured, flags.tolerance, flags.keep_map)]
    return max(found, key=lambda one: (min(one.causality, flags.enough), one.accuracy))


TRANSFORM = "transform.json"


def analyze(flags: CausalityFlags) -> Findings:
    """Searches on the validation data, measures on the test data, and writes and logs the results."""
    _check(flags)
    check_writable(locate(flags.out))
    uris = [flags.data, flags.test, *([flags.train] if flags.train else [])]
    manifests = [usable(uri, require_videos) for uri in uris]
    if manifests[0].fingerprint == manifests[1].fingerprint:
        raise ConfigError(
            f"vtr analyze causality: --data and --test are the same data set ({flags.test}); figures on what the "
            "transform was searched on would flatter it, so give another one"
        )
    table = _table(flags, manifests)
    loaded = read_model(flags.checkpoint, SYSTEMS, device())
    if table is not None:
        _check_concepts(loaded, table)
    names = short_names(manifests)
    found = _findings(flags, loaded, manifests, names, table)
    found.search.best.transform.write((locate(flags.out) / TRANSFORM).uri)
    parts = printed(found)
    show(parts)
    settings = {
        "search": flags.search,
        "score": flags.score,
        "tolerance": flags.tolerance,
        "keep_map": flags.keep_map,
        "enough": flags.enough,
        "captions_per_video": flags.captions_per_video,
        "seed": flags.seed,
    }
    write_analysis(
        "causality", flags.out, flags.experiment, [loaded], dict(zip(names, manifests, strict=True)),
        found.to_json(), found.metrics(), parts, figures(found), settings,
    )  # fmt: skip
    print(f"transform   {(locate(flags.out) / TRANSFORM).uri}")
    return found


def _check(flags: CausalityFlags) -> None:
    if flags.checkpoint.startswith(ENCODER):
        raise ConfigError(
            f"vtr analyze causality: {flags.checkpoint} was not trained, and there is no transform of its concepts to "
            f"search; its C@10 and C@30 are on the page of vtr explain {flags.checkpoint} --data URI --query TEXT"
        )
    for name, value in (
        ("points", flags.points),
        ("captions-per-video", flags.captions_per_video),
        ("top-k-captions", flags.top_k_captions),
        ("top-k", min(flags.top_k, default=0)),
    ):
        if value is not None and value < 1:
            raise ConfigError(f"vtr analyze causality: --{name} is {value}; it must be at least 1")
    if not 0 <= flags.tolerance < 1:
        raise ConfigError(f"vtr analyze causality: --tolerance is {flags.tolerance}; it must be in [0, 1)")
    if not 0 < flags.enough <= 1:
        raise ConfigError(f"vtr analyze causality: --enough is {flags.enough}; it must be in (0, 1]")


def _table(flags: CausalityFlags, manifests: Sequence[Manifest]) -> ConceptTable | None:
    """The given concept table, or the one in or beside the data if it exists; it must contain every data set."""
    places = [locate(flags.concepts)] if flags.concepts else concept_places(locate(flags.train or flags.data))
    folder = next((place for place in places if storage.exists(place / FILE)), places[0])
    if flags.concepts is None and not storage.exists(folder / FILE):
        shown = " or ".join(str(place) for place in places)
        print(f"there is no concept table at {shown}: nothing is said on the detectors (vtr concepts makes one)")
        return None
    table = ConceptTable.load(folder.uri)
    for manifest in manifests:
        table.require_dataset(manifest.uri, manifest.fingerprint)
    return table


def _check_concepts(loaded: LoadedModel, table: ConceptTable) -> None:
    """DatasetError where the labels are of other concepts than those that the model was trained on."""
    ranked = table.names[: len(loaded.concepts)]
    if ranked != loaded.concepts:
        differs = next(
            (n for n, pair in enumerate(zip(ranked, loaded.concepts, strict=False)) if len(set(pair)) > 1), None
        )
        where = (
            f"there are {len(ranked)}"
            if differs is None
            else f"{ranked[differs]!r} is in the place of {loaded.concepts[differs]!r}"
        )
        raise DatasetError(
            f"the model detects {len(loaded.concepts)} concepts; in the concept table {table.uri} {where}; "
            "give with --concepts the table that it was trained with"
        )


def _findings(
    flags: CausalityFlags,
    loaded: LoadedModel,
    manifests: Sequence[Manifest],
    names: Sequence[str],
    table: ConceptTable | None,
) -> Findings:
    similarity = dual_encoder(loaded).config.concept_similarity
    sets = [analysed_set(name, embed_dual(loaded, m)) for name, m in zip(names, manifests, strict=True)]
    spaces = [one.concept_space(similarity) for one in sets]
    search = search_transform(flags, sets[0], spaces[0], loaded.config.evaluation.latent_weight)
    best, test = search.best.transform, spaces[1]
    both = (("original", test.identity), ("improved", best))
    ks = sorted({min(k, test.text.shape[1]) for k in flags.top_k} | {test.text.shape[1]})
    return Findings(
        checkpoint=loaded.uri,
        test=names[1],
        search=search,
        inferences=inferences(sets[1], test, search.transforms(), loaded.config.evaluation.latent_weight),
        curves={name: curves_by_set(test, transform, flags.seed) for name, transform in both},
        top_k={
            name: top_k_precision(test, transform, ks, flags.top_k_captions, flags.seed) for name, transform in both
        },
        detectors=None if table is None else detector_findings(sets, spaces, table, best, loaded.concepts),
        left_out={one.name: one.left_out for one in sets},
        sweeps=swept_curves(test),
        top_k_sweep=swept_top_k(test, ks, flags.top_k_captions, flags.seed),
    )


def detector_findings(
    sets: Sequence[AnalysedSet],
    spaces: Sequence[ConceptSpace],
    table: ConceptTable,
    improved: Transform,
    concepts: Sequence[str],
) -> DetectorFindings:
    """Detector reports of every split; the fate of each concept where the training data are the third of the splits."""
    reports = {
        data.name: split_report(data.name, data, space, table, improved)
        for data, space in zip(sets, spaces, strict=True)
    }
    fates = detector_fates(reports, sets[2].name, sets[1].name, concepts) if len(sets) > 2 else None
    shown = [names[0] for names in (fates or {}).values() if names]
    histograms = {
        name: {
            data.name: histogram(data, space, table, concepts.index(name))
            for data, space in zip(sets, spaces, strict=True)
        }
        for name in shown
    }
    return DetectorFindings(list(reports.values()), fates, histograms)
