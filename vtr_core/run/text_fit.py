"""Whether the words and concepts of a run's data were made as its preset asks."""

from collections.abc import Mapping
from typing import Any

from vtr_core.config.caption_text import ConceptText
from vtr_core.data.concepts.table import TableHead
from vtr_core.data.manifest import Manifest
from vtr_core.errors import DatasetError
from vtr_core.run.config import TrainConfig
from vtr_core.run.models import system_of

_LONGEST_VALUE = 200


def check_captions(config: TrainConfig, manifest: Manifest) -> None:
    """DatasetError, with a command that makes suitable data, where captions were not tokenised as the configuration
    asks, or in a way that the model cannot read.
    """
    made = manifest.vocabulary.made or {}
    if made.get("unknown") == "token" and not system_of(config.model).reads_unknown_words:
        raise DatasetError(
            f"{manifest.uri} has <unk> for unknown words, which {config.model.kind} models do not read; make a data "
            "set without: vtr ingest … --unknown-words dropped"
        )
    differences = _differences(config.captions.asked, made)
    if differences:
        raise DatasetError(
            f"{manifest.uri} does not fit {config.preset}: {differences}; make a data set that does with "
            f"{ingest_command(manifest, config.preset)}, or train on this one with "
            + " ".join(f"--captions.{name} None" for name in config.captions.asked)
        )


def check_concepts(config: TrainConfig, head: TableHead, uri: str, folder: str) -> None:
    """`check_captions` for the concept table at `uri` of the data in `folder`."""
    made = ConceptText(parts=head.letters, pos=head.pos, stop_words=head.stop_words).asked
    differences = _differences(config.concepts.asked, made)
    if differences:
        raise DatasetError(
            f"the concept table {uri} does not fit {config.preset}: {differences}; make one that does with "
            f"vtr concepts {folder} --preset {config.preset}, or train with this one with "
            + " ".join(f"--concepts.{name} None" for name in config.concepts.asked)
        )


def ingest_command(manifest: Manifest, preset: str) -> str:
    """The command that would make the data set at `manifest` as `preset` asks."""
    adapter, settings = str(manifest.source.get("adapter", "SOURCE")), manifest.source
    flags = [
        f"--{name.replace('_', '-')} {value}"
        for name, value in settings.items()
        if name not in ("adapter", "split", "ingest", "content_split") and isinstance(value, str | int | float)
        if not isinstance(value, bool) and len(str(value)) <= _LONGEST_VALUE
    ]
    kind = ["--records videos"] if manifest.schema.kind == "videos" and adapter in ("msrvtt", "synthetic") else []
    return " ".join(["vtr ingest", adapter, *kind, *flags, f"--preset {preset}", "--out FOLDER"])


def _differences(asked: Mapping[str, Any], made: Mapping[str, Any]) -> str:
    """The settings made otherwise than asked; an older data set does not record how it was made."""
    return ", ".join(
        f"{name} is {made.get(name, 'not recorded')} where {wanted} is asked for"
        for name, wanted in asked.items()
        if made.get(name) != wanted
    )
