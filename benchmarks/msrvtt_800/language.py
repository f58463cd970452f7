"""Captioners that have read MSR-VTT's captions and seen no video, for trainings on MSR-VTT-800 to begin with."""

import csv
from collections.abc import Mapping
from pathlib import Path

from benchmarks.msrvtt_ridge import allowed_text, msrvtt
from pipelines.ingest.command import ingest
from pipelines.ingest.ingest_options import IngestFlags
from pipelines.tables.runs import Sweep, check_settings
from vtr_core.config.override import override
from vtr_core.data.sources.caption_table import Captions
from vtr_core.run.presets import preset

_LONG = {"training.epochs": 100, "training.validate_every": 100}
"""More epochs than `training.max_steps` lets pass, so that the steps decide."""


def captions_alone(data: Path, work: Path, vocabulary: str) -> str:
    """The captions of all videos of MSR-VTT's training and validation files that the 800 do not have, and those of the
    800's training videos, as a data set in the words of another.
    """
    out = work / "set"
    if not out.exists():
        text = allowed_text(msrvtt(data), 0)
        work.mkdir(parents=True, exist_ok=True)
        with (work / "captions.csv").open("w", newline="") as file:
            csv.writer(file).writerows([("caption",), *((one,) for one in dict.fromkeys((*text.train, *text.more)))])
        flags = IngestFlags(out=str(out), vocabulary=vocabulary, max_words=32, videos_per_shard=4096, workers=0)
        ingest(Captions(table=str(work / "captions.csv")), flags)
    return str(out)


def language_model(captions: str, out: str, changes: Mapping[str, object], experiment: str) -> str:
    """The run folder `out` of `caption-pretrain-tiny` with `changes`; an interrupted run goes on.

    RunConflict where the folder's run has other settings.
    """
    config = override(preset("caption-pretrain-tiny"), {"scaling.workers": 0, **_LONG, **changes})
    check_settings(out, config)
    Sweep(out, captions, None, [], 1, experiment).train(config, out)
    return out
