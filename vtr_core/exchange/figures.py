"""The retrieval metrics of a model on a data set, beside chance, for its card."""

from collections.abc import Sequence
from dataclasses import dataclass

from vtr_core.data.plan.plan import row_groups
from vtr_core.retrieval.embed.joint_space import JointSpace
from vtr_core.retrieval.evaluate.retrieval import Direction, evaluate_retrieval
from vtr_core.retrieval.search.dual_spaces import DualSpaces
from vtr_core.retrieval.spaces import spaces_of
from vtr_core.run.inputs import usable_data
from vtr_core.train.checkpoint.load import LoadedModel


@dataclass(frozen=True)
class CardFigures:
    """The metrics of every direction on one data set, as `vtr evaluate` gives them."""

    data: str
    """The name of the data set's folder."""
    fingerprint: str
    videos: int
    directions: Sequence[Direction]


def card_figures(loaded: LoadedModel, uri: str) -> CardFigures:
    """Evaluate the model on a data set; ConfigError for a model without retrieval, DatasetError for other data."""
    space = spaces_of(loaded, "figures of retrieval (--data)")
    manifest = usable_data(loaded.config.model, uri)
    space.check(loaded.config, manifest)
    match space:
        case DualSpaces():
            directions = space.figures(loaded, manifest, loaded.config.evaluation, None, None, None)[0].directions
        case JointSpace():
            rows = space.rows(loaded.model, loaded.config, manifest, loaded.vocabulary, row_groups(manifest))
            directions = evaluate_retrieval(rows, loaded.config.evaluation.similarity)
    name = "/".join(manifest.uri.rstrip("/").split("/")[-2:])
    return CardFigures(name, manifest.fingerprint, manifest.videos, directions)
