"""The search of `vtr analyze causality` for a transform of concept scores."""

import time
from typing import assert_never

from tune_spaces.transforms import tune_transforms
from vtr_core.analysis.causality_search import coordinate_search, pareto_front
from vtr_core.analysis.concept_space import ConceptSpace
from vtr_core.analysis.thesis_search import thesis_search
from vtr_core.analysis.transform_objective import LatentPart, Measured, TransformObjective
from vtr_core.errors import ConfigError
from vtr_core.systems.dual.analyze.analysed_set import AnalysedSet
from vtr_core.systems.dual.analyze.causality.command import CausalityFlags
from vtr_core.systems.dual.analyze.causality.findings import SearchFindings, Wider


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
    objective = TransformObjective(part, latent=latent)
    started = time.monotonic()
    wider = Wider()
    match flags.search:
        case "coordinate":
            best = coordinate_search(objective, objective.identity, tolerance=flags.tolerance).best
        case "thesis":
            best = thesis_search(objective, objective.identity, flat=flags.tolerance).best
            wider = _wider(objective, flags.tolerance)
        case "tune":
            tune_transforms(objective, space.similarity, flags.points, flags.seed)
            best = _most_causal(objective, flags.tolerance)
        case _:
            assert_never(flags.search)
    return SearchFindings(
        kind=flags.search,
        score=flags.score,
        tolerance=flags.tolerance,
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
    """All parameters together: as accurate as can be, and as causal as can be for the accuracy as trained."""
    found = [coordinate_search(objective, objective.identity, tolerance=one).best for one in (tolerance, 1.0)]
    return Wider(*found)


def _most_causal(objective: TransformObjective, tolerance: float) -> Measured:
    """The most causal transform whose accuracy is within `tolerance` of the best one's and not below the identity's."""
    floor = max(max(one.accuracy for one in objective.measured) - tolerance, objective(objective.identity).accuracy)
    allowed = [one for one in objective.measured if one.accuracy >= floor]
    return max(allowed, key=lambda one: (one.causality, one.accuracy))
