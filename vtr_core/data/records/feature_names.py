"""Names of feature columns that readers cannot take for columns of another kind."""

from collections.abc import Iterable

from vtr_core.data.records.clip_schema import CLIP_COLUMNS
from vtr_core.data.records.picture_schema import FRAME_COLUMNS, IMAGE_COLUMNS
from vtr_core.data.records.video_schema import VIDEO_COLUMNS
from vtr_core.errors import ConfigError

_TAKEN = frozenset(
    name for columns in (CLIP_COLUMNS, VIDEO_COLUMNS, IMAGE_COLUMNS, FRAME_COLUMNS) for name, _ in columns
) | {"frames", "pixels", "tokens", "candidate_tokens", "step", "replaced"}
"""Columns of shards, and what batches hold beside features."""
_PREFIXES, _SUFFIX = ("has_", "num_", "kept_"), "_key"


def check_feature_names(names: Iterable[str]) -> None:
    """ConfigError for a name that is no plain word, or that shards or batches use for something else."""
    for name in names:
        taken = name in _TAKEN or name.startswith(_PREFIXES) or name.endswith(_SUFFIX)
        if taken or not name.isidentifier():
            raise ConfigError(
                f"a feature cannot be called {name!r}: data sets use that name themselves, or it is no word of "
                "letters, digits and _; choose another, such as video or audio"
            )
