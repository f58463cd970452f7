"""The search of `vtr analyze causality` for a transform of concept scores."""

import time
from typing import assert_never

from tune_spaces.transforms import tune_transforms
from vtr_core.analysis.causality_search import allowed, coordinate_search, pareto_front
from vtr_core.analysis.concept_space import ConceptSpace
from vtr_core.analysis.thesis_search import thesis_search
from vtr_core.analysis.transform_objective import LatentPart, Measured, TransformObjective
from vtr_core.errors import ConfigError
from pipelines.systems.dual.analyze.analysed_set import AnalysedSet
from pipelines.systems.dual.analyze.causality.command import CausalityFlags
from pipelines.systems.dual.analyze.causality.findings import SearchFindings, Wider

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
