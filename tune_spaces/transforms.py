"""Search of transforms of concept scores for accuracy and causality, a multi-objective problem.

A point costs milliseconds, because the model is not run again; Optuna therefore runs in this process. Trials on a
cluster, as in `vtr sweep`, would cost a thousand times as much.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace

import optuna

from tune_spaces.optuna_points import distribution
from vtr_core.analysis.causality_search import coordinates
from vtr_core.analysis.transform_objective import Measured
from vtr_core.analysis.transforms import ConceptSimilarity, Transform
from vtr_core.config.domains import Domain, LogUniform, Uniform
from vtr_core.errors import ConfigError

_DOMAINS: Mapping[str, Domain] = {
    "power": LogUniform(0.25, 8.0),
    "scale": LogUniform(0.25, 32.0),
    "shift": Uniform(-4.0, 4.0),
}


def transform_domains(similarity: ConceptSimilarity) -> dict[str, Domain]:
    """The searched coordinates with their ranges; a scale has no effect on a cosine."""
    return {name: _DOMAINS[name] for name in coordinates(similarity)}


def tune_transforms(
    measure: Callable[[Transform], Measured],
    similarity: ConceptSimilarity,
    count: int,
    seed: int,
    known: Sequence[Transform] = (),
) -> list[Measured]:
    """`count` transforms with their objectives, in order, by NSGA-II (Deb et al. 2002).

    The identity comes first, then `known` ones, which count as points. The points are a function of `seed` and the
    objectives. ConfigError for a count below 1.
    """
    if count < 1:
        raise ConfigError(f"a search over {count} transforms; it needs at least 1")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    domains = transform_domains(similarity)
    distributions = {name: distribution(domain) for name, domain in domains.items()}
    study = optuna.create_study(directions=["maximize", "maximize"], sampler=optuna.samplers.NSGAIISampler(seed=seed))
    for transform in (Transform(similarity), *known):
        study.enqueue_trial({name: value for name, value in asdict(transform).items() if name in domains})
    measured = []
    for _ in range(count):
        trial = study.ask(distributions)
        found = measure(replace(Transform(similarity), **trial.params))
        study.tell(trial, (found.accuracy, found.causality))
        measured.append(found)
    return measured
