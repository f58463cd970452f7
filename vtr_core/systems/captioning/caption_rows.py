"""`vtr embed --write captions`: a generated caption for every video of some row groups."""

from collections.abc import Sequence

import pyarrow as pa

from vtr_core.config.override import override
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import RowGroup
from vtr_core.retrieval.embed.outputs import Output, OutputSettings
from vtr_core.systems.captioning.config import CaptionerConfig, DecodingConfig
from vtr_core.systems.captioning.evaluation import caption_videos, require_captioner
from vtr_core.systems.captioning.inputs.rows import check_data
from vtr_core.systems.loaded_model import TrainedModel


def _decoding(loaded: TrainedModel, settings: OutputSettings) -> DecodingConfig:
    """That of training with the given settings; ConfigError for an invalid one."""
    return override(require_captioner(loaded.model, loaded.uri).config.decoding, dict(settings))


def _check(loaded: TrainedModel, manifest: Manifest, settings: OutputSettings) -> None:
    assert isinstance(loaded.config.model, CaptionerConfig)
    check_data(manifest, loaded.config.model)
    _decoding(loaded, settings)


def _table(loaded: TrainedModel, manifest: Manifest, places: Sequence[RowGroup], settings: OutputSettings) -> pa.Table:
    """Columns video_id, has_frames, caption; those of `vtr caption`."""
    model = require_captioner(loaded.model, loaded.uri)
    found = caption_videos(model, loaded.config, manifest, loaded.vocabulary, places, _decoding(loaded, settings))
    names = list(found.hypotheses)
    columns = {
        "video_id": pa.array(names, pa.string()),
        "has_frames": pa.array([found.seen[name] for name in names], pa.bool_()),
        "caption": pa.array(list(found.hypotheses.values()), pa.string()),
    }
    return pa.table(columns)


CAPTIONS = Output(_check, _table, frozenset({"beams", "length_penalty", "block_ngrams", "consensus_samples"}))
