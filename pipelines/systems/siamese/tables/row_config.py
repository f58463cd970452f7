"""The configuration of a table's row: a variant of the base preset, with the changes that apply to it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipelines.systems.siamese.tables.plan import FacePlan

if TYPE_CHECKING:
    from vtr_core.run.config import TrainConfig
    from pipelines.systems.siamese.tables.paper import PaperRow

DOUBLE_MARGINS = ("loss.margin_positive", "loss.margin_negative")
"""Settings that the contrastive loss lacks; it has loss.margin."""


def row_config(plan: FacePlan, row: "PaperRow") -> "TrainConfig":
    """The row's configuration; changes of settings that its tower or loss lacks are ignored."""
    from vtr_core.config.override import override
    from vtr_core.run.presets import preset
    from vtr_core.systems.siamese.config import SiameseConfig

    config = preset(f"{plan.preset}-{row.variant}" if row.variant else plan.preset)
    assert isinstance(config.model, SiameseConfig)
    is_capsules = config.model.tower.kind == "capsules"
    if row.double_margin:
        config = override(config, {"loss.kind": "pair_double_margin", "preset": f"{config.preset}-double-margin"})
    lacking = (
        *(() if is_capsules else ("model.tower.",)),
        *(DOUBLE_MARGINS if config.loss.kind == "pair_contrastive" else ("loss.margin",)),
    )
    return override(config, {name: value for name, value in plan.changes.items() if not _within(name, lacking)})


def _within(name: str, settings: Sequence[str]) -> bool:
    """Whether a setting is one of these, or in a block, which ends with a dot, of these."""
    return any(name == setting or (setting.endswith(".") and name.startswith(setting)) for setting in settings)
