"""`System` of the adapter: clips and texts in the space of a pretrained encoder."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vtr_core.systems.adapter.config import AdapterConfig
from vtr_core.systems.system import Presets, RecordKind, System, columns, margin_setting, never

if TYPE_CHECKING:
    from vtr_core.data.manifest import Manifest
    from vtr_core.encoders.encoder import Encoder
    from vtr_core.run.config import TrainConfig
    from vtr_core.systems.implementation import Implementation


def _implementation() -> "Implementation":
    from vtr_core.systems.adapter.implementation import IMPLEMENTATION

    return IMPLEMENTATION


def _presets() -> Presets:
    from vtr_core.systems.adapter.presets import ADAPTER_PRESETS

    return ADAPTER_PRESETS


def _zero_shot(encoder: "Encoder") -> "TrainConfig":
    from vtr_core.systems.adapter.zero_shot import zero_shot_config

    return zero_shot_config(encoder)


def _inputs(manifest: "Manifest", model: AdapterConfig) -> dict[str, Any]:
    from vtr_core.systems.adapter.inputs import adapter_inputs

    return adapter_inputs(manifest, model)


def _takes(model: AdapterConfig) -> tuple[str, ...]:
    return model.columns


def _reads_instead(model: AdapterConfig) -> RecordKind | None:
    return "videos" if model.frames == "attention" else None


def _usual_features(model: AdapterConfig) -> "Mapping[str, int]":
    """EfficientNet-Lite0's rows, pooled to their mean and standard deviation for clips."""
    return {model.feature: 1280 if model.frames == "attention" else 2560}


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
    standardizes=_always,
    reads_instead=_reads_instead,
    usual_features=_usual_features,
    reads_features=columns,
    reads_means=never,
    reads_texts=_always,
    granularity=margin_setting,
    zero_shot=_zero_shot,
)
