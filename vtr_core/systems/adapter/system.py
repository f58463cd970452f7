"""`System` of the adapter: clips and texts in the space of a pretrained encoder."""

from typing import TYPE_CHECKING, Any

from vtr_core.systems.adapter.config import AdapterConfig
from vtr_core.systems.system import Presets, System, columns, margin_setting

if TYPE_CHECKING:
    from vtr_core.data.manifest import Manifest
    from vtr_core.encoders.encoder import Encoder
    from vtr_core.run.config import TrainConfig
    from vtr_core.systems.implementation import Implementation


def _implementation() -> "Implementation":
    from vtr_core.systems.adapter.implementation import IMPLEMENTATION

    return IMPLEMENTATION


def _presets() -> Presets:
    from vtr_core.systems.adapter.presets import ADAPTER_BASES, no_variant

    return Presets(ADAPTER_BASES, (), no_variant, {})


def _zero_shot(encoder: "Encoder") -> "TrainConfig":
    from vtr_core.systems.adapter.zero_shot import zero_shot_config

    return zero_shot_config(encoder)


def _inputs(manifest: "Manifest") -> dict[str, Any]:
    from vtr_core.systems.adapter.inputs import adapter_inputs

    return adapter_inputs(manifest)


def _takes(model: AdapterConfig) -> tuple[str, ...]:
    return model.columns


def _always(*_: Any) -> bool:
    return True


ADAPTER = System(
    name="adapter",
    configs=(AdapterConfig,),
    reads="clips",
    implementation=_implementation,
    presets=_presets,
    inputs=_inputs,
    takes=_takes,
    reads_features=columns,
    reads_texts=_always,
    granularity=margin_setting,
    zero_shot=_zero_shot,
)
