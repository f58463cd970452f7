"""`vtr export CHECKPOINT --to FOLDER`: a trained model for others, in the hub's layout, with its model card."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from pipelines.arguments import json_alone, parse, print_help, print_json, wants_help
from pipelines.systems.registry import SYSTEMS
from vtr_core.errors import command_line

if TYPE_CHECKING:
    from vtr_core.train.checkpoint.trained_model import LoadedModel


@dataclass(frozen=True)
class ExportFlags:
    """Flags of `vtr export`."""

    checkpoint: Annotated[str, tyro.conf.Positional]
    """Checkpoint folder, run folder (its best checkpoint is used), or registered model, models:/NAME@ALIAS."""
    to: str
    """New folder or URI; hub:owner/name also uploads it to the Hugging Face hub."""
    licence: str | None = None
    """Licence of the weights, as the hub names licences, such as apache-2.0 (default: unknown)."""
    public: bool = False
    """A repository on the hub that anyone can read; without it a new one is private."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    if not argv or wants_help(argv):
        print_help("vtr export", ExportFlags)
        return
    flags = parse(ExportFlags, argv, "vtr export")
    with json_alone(flags.json):
        result = export(flags)
    if flags.json:
        print_json(result)


def export(flags: ExportFlags) -> dict[str, object]:
    """Write the folder, and upload it where a name on the hub is given; where it is and what it is of, for programs."""
    from vtr_core.storage import check_writable, locate
    from vtr_core.storage.hub import PREFIX, check_hub_name, publish_to_hub

    if not flags.to.startswith(PREFIX):
        check_writable(locate(flags.to))
        result = _export(flags, flags.to)
        return {"exported": flags.to, **result}
    check_hub_name(flags.to.removeprefix(PREFIX))
    with tempfile.TemporaryDirectory(prefix="vtr-export-") as folder:
        place = str(Path(folder) / "model")
        result = _export(flags, place)
        address = publish_to_hub(Path(place), flags.to.removeprefix(PREFIX), flags.public)
        print(f"published   {address}")
    return {"exported": address, **result}


def _export(flags: ExportFlags, folder: str) -> dict[str, object]:
    from pipelines.evaluate.evaluation_flags import device
    from vtr_core.exchange import export_model, model_card
    from vtr_core.storage import locate
    from vtr_core.train.checkpoint.trained_model import located_model

    with located_model(flags.checkpoint, SYSTEMS, device()) as (loaded, checkpoint):
        export_model(checkpoint, locate(folder), model_card(loaded, flags.licence))
    print(f"model       {loaded.uri}")
    print(f"exported    {folder}")
    if folder == flags.to:
        print(f"next        {_next(loaded, folder)}")
    return {"model": loaded.uri}


def _next(loaded: "LoadedModel", place: str) -> str:
    system = loaded.config.model.system()
    if system.implementation().retrieval is None:
        return command_line("evaluate", place, "--task", system.evaluation, "--data", "URI")
    return f"vtr_core.load({place!r}), or give it to any command that takes a checkpoint"


if __name__ == "__main__":
    from pipelines.cli import main as vtr

    vtr("export")
