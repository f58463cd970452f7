"""Figures of a sweep by Optuna, as SVG: parallel coordinates, importances of settings, the Pareto front."""

import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
import optuna
from optuna.importance import PedAnovaImportanceEvaluator
from optuna.study import StudyDirection
from optuna.trial import create_trial

from tune_spaces.trial_search import distribution
from vtr_core.config.search_space import Point, Space

FEWEST = 4
"""Trials, of different objectives, from which on settings have an importance."""


@dataclass(frozen=True)
class Scored:
    """A trial in a figure."""

    point: Point
    objective: float
    weights: int


def sweep_figures(space: Space, trials: Sequence[Scored], metric: str) -> dict[str, str]:
    """The figures by the names of their files.

    Importances are those of PED-ANOVA (Watanabe et al. 2023, "PED-ANOVA: efficiently quantifying hyperparameter
    importance in arbitrary subspaces"): how much more often the best tenth of the trials has some values of a setting
    than all. A setting that is inactive in a trial is None in its parallel coordinates.
    """
    from optuna.visualization import matplotlib as drawn

    study = _study(space, trials, [lambda trial: trial.objective], [StudyDirection.MAXIMIZE])
    figures = {"parallel_coordinates.svg": _svg(lambda: drawn.plot_parallel_coordinate(study, target_name=metric))}
    varied = [name for name in space.parameters if len({trial.point.get(name) for trial in trials}) > 1]
    if len({trial.objective for trial in trials}) >= FEWEST and varied:
        figures["importance.svg"] = _svg(
            lambda: drawn.plot_param_importances(study, evaluator=PedAnovaImportanceEvaluator(), target_name=metric)
        )
    both = [StudyDirection.MAXIMIZE, StudyDirection.MINIMIZE]
    sizes = _study(space, trials, [lambda trial: trial.objective, _weights], both)
    figures["pareto.svg"] = _svg(lambda: drawn.plot_pareto_front(sizes, target_names=[metric, "weights"]))
    return figures


def _weights(trial: Scored) -> float:
    return float(trial.weights)


def _study(
    space: Space,
    trials: Sequence[Scored],
    values: Sequence[Callable[[Scored], float]],
    directions: Sequence[StudyDirection],
) -> optuna.Study:
    """The trials as a study of Optuna's."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(directions=list(directions))
    for trial in trials:
        distributions = {name: distribution(space.parameters[name].domain) for name in trial.point}
        study.add_trial(
            create_trial(
                params=dict(trial.point), distributions=distributions, values=[value(trial) for value in values]
            )
        )
    return study


def _svg(draw: Callable[[], Any]) -> str:
    """What `draw` draws by pyplot, whose style is left as it was."""
    matplotlib.use("agg")  # files alone, also where there is a screen
    from matplotlib import pyplot as plt

    with warnings.catch_warnings(), plt.style.context("default"), io.StringIO() as file:
        warnings.simplefilter("ignore")  # experimental; axes of a single value
        figure = draw().figure
        figure.set_size_inches(12, 6)
        figure.savefig(file, format="svg", bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)
        return file.getvalue()
