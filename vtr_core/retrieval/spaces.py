"""The embedding spaces of a checkpoint's model; errors name the models that have the required one."""

from vtr_core.retrieval.embed.joint_space import JointSpace
from vtr_core.retrieval.search.dual_spaces import DualSpaces
from vtr_core.run.lacking import lacking
from vtr_core.run.models import system_of
from vtr_core.systems.loaded_model import TrainedModel
from vtr_core.systems.system import System


def spaces_of(loaded: TrainedModel, what: str) -> JointSpace | DualSpaces:
    """The embedding functions of the model; ConfigError, naming `what` as the user, for a model without."""
    found = _spaces(system_of(loaded.config.model))
    if found is None:
        raise lacking(loaded, what, lambda system: _spaces(system) is not None)
    return found


def clip_space_of(loaded: TrainedModel, what: str) -> JointSpace:
    """The joint space of a model of clips; ConfigError for other models."""
    found = _clip_space(system_of(loaded.config.model))
    if found is None:
        raise lacking(loaded, what, lambda system: _clip_space(system) is not None)
    return found


def dual_spaces_of(loaded: TrainedModel, what: str) -> DualSpaces:
    """The latent and concept space of a dual encoder; ConfigError for other models."""
    found = _spaces(system_of(loaded.config.model))
    if not isinstance(found, DualSpaces):
        raise lacking(loaded, what, lambda system: isinstance(_spaces(system), DualSpaces))
    return found


def _spaces(system: System) -> JointSpace | DualSpaces | None:
    return system.implementation().retrieval


def _clip_space(system: System) -> JointSpace | None:
    found = _spaces(system)
    return found if isinstance(found, JointSpace) and system.reads == "clips" else None
