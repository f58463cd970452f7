"""Presets: a name is a function that returns a complete configuration; a variant changes a few lines of another."""

import difflib
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from vtr_core.errors import ConfigError
from vtr_core.run.config import TrainConfig
from vtr_core.systems.capsules.presets import BASES
from vtr_core.systems.capsules.variants import VARIANTS, variant
from vtr_core.systems.captioning.presets import CAPTION_BASES, CAPTION_VARIANTS, caption_variant
from vtr_core.systems.dual.presets import DUAL_BASES, DUAL_VARIANTS, dual_variant
from vtr_core.systems.muse.presets import MUSE_BASES, MUSE_VARIANTS, muse_variant
from vtr_core.systems.siamese.presets import SIAMESE_BASES, SIAMESE_VARIANTS, siamese_presets


def _variant(base: str, name: str) -> TrainConfig:
    return variant(BASES[base](), name)


def _dual_variant(base: str, name: str) -> TrainConfig:
    return dual_variant(DUAL_BASES[base](), name)


def _muse_variant(base: str, name: str) -> TrainConfig:
    return muse_variant(MUSE_BASES[base](), name)


def _caption_variant(base: str, name: str) -> TrainConfig:
    return caption_variant(CAPTION_BASES[base](), name)


PRESETS: Mapping[str, Callable[[], TrainConfig]] = MappingProxyType(
    {
        **BASES,
        **{f"{base}-{name}": partial(_variant, base, name) for base in BASES for name in VARIANTS},
        **DUAL_BASES,
        **{f"{base}-{name}": partial(_dual_variant, base, name) for base in DUAL_BASES for name in DUAL_VARIANTS},
        **MUSE_BASES,
        **{f"{base}-{name}": partial(_muse_variant, base, name) for base in MUSE_BASES for name in MUSE_VARIANTS},
        **siamese_presets(),
        **CAPTION_BASES,
        **{
            f"{base}-{name}": partial(_caption_variant, base, name)
            for base in CAPTION_BASES
            for name in CAPTION_VARIANTS
        },
    }
)
"""The bases, and of each the variants of the papers' tables as `<base>-<variant>`."""


def preset(name: str) -> TrainConfig:
    """The configuration of the preset `name`; ConfigError lists the known ones."""
    if name not in PRESETS:
        close = difflib.get_close_matches(name, PRESETS, n=3)
        hint = f"did you mean {' or '.join(close)}? " if close else ""
        raise ConfigError(f"no preset {name!r}; {hint}{' '.join(describe_presets().split())}")
    return PRESETS[name]()


def describe_presets() -> str:
    """The names of all presets, two lines for each family."""
    families = (
        (BASES, VARIANTS),
        (DUAL_BASES, DUAL_VARIANTS),
        (MUSE_BASES, MUSE_VARIANTS),
        (SIAMESE_BASES, SIAMESE_VARIANTS),
        (CAPTION_BASES, CAPTION_VARIANTS),
    )
    return ";\n".join(
        f"presets: {', '.join(bases)};\nvariants of each, <preset>-<variant>: {', '.join(variants)}"
        for bases, variants in families
    )
