"""`vtr import`: checkpoints of other projects; the first argument names the project."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro

from pipelines.arguments import run_import, run_subcommand
from pipelines.systems.registry import SYSTEMS
from vtr_core.errors import command_line, nearest
from vtr_core.systems.system import Subcommand


@dataclass(frozen=True)
class WeightsFlags:
    """Flags of `vtr import weights`."""

    file: Annotated[str, tyro.conf.Positional]
    """File of weights by torch.save, or a TorchScript archive such as OpenAI's ViT-B-32.pt; only tensors are read."""
    out: str = tyro.MISSING
    """New file that ends in .safetensors."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


def convert_weights(flags: WeightsFlags) -> dict[str, object]:
    """Write the tensors of the file as .safetensors, and print how many there are; the same for programs."""
    from pathlib import Path

    from vtr_core.backbones.weights import convert

    state = convert(flags.file, Path(flags.out))
    values = sum(value.numel() for value in state.values())
    print(f"weights     {flags.out}: {len(state)} tensors, {values:,} values")
    return {"file": flags.out, "tensors": len(state), "values": values}


@dataclass(frozen=True)
class FeaturesFlags:
    """Flags of `vtr import features`."""

    file: Annotated[str, tyro.conf.Positional]
    """Published file of one vector a clip: HowTo100M's MSRVTT_JSFUSION_test.pth, youcook_val.pkl, or one of AVLnet."""
    out: str = tyro.MISSING
    """New folder, for vtr ingest pairs --table OUT/table.csv."""
    captions: str | None = None
    """Table with video_id and sentence, for a file without captions: MSRVTT_JSFUSION_test.csv."""
    davenet: str | None = None
    """AVLnet's weights, which turn spectrograms into audio features; without them clips have no audio."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


def convert_published(flags: FeaturesFlags) -> dict[str, object]:
    """Write the vectors as .npy files with a table, and print what to do with them; the same for programs."""
    from vtr_core.backbones.published_features import convert_features

    clips, heard = convert_features(flags.file, flags.out, flags.captions, flags.davenet)
    table, columns = f"{flags.out}/table.csv", ["video", "audio"] if heard else ["video"]
    print(f"features    {flags.out}: {clips:,} clips, {heard:,} with audio")
    words = ["--table", table, "--feature-columns", *columns, "--pool", "max", "--no-normalise", "--out", "DATA"]
    print(f"next        {command_line('ingest', 'pairs', *words)}")
    return {"table": table, "clips": clips, "audio": heard}


IMPORTS: tuple[Subcommand, ...] = (
    Subcommand(
        "features",
        "published features of one vector a clip (.pth, .pkl) as .npy files",
        lambda argv: run_import(argv, "features", FeaturesFlags, convert_published),
    ),
    Subcommand(
        "weights",
        "a published file of weights (.pt, .pth) as .safetensors, for --weights",
        lambda argv: run_import(argv, "weights", WeightsFlags, convert_weights),
    ),
    *(kind for system in SYSTEMS for kind in system.imports),
)
_LINES = "\n".join(f"  {kind.name:18}{kind.summary}" for kind in IMPORTS)
HELP = f"""\
usage: vtr import <kind> FILE --out URI [flags]      vtr import <kind> --help

{_LINES}
"""


def main(argv: Sequence[str]) -> None:
    """Run the import that the first argument names."""
    run_subcommand(argv, IMPORTS, HELP, _unknown)


def _unknown(word: str) -> str:
    names = [kind.name for kind in IMPORTS]
    hint = nearest(word, names, f"kinds: {', '.join(names)}")
    return f"vtr import {word}: there is no such kind of checkpoint; {hint}"


if __name__ == "__main__":
    from pipelines.cli import main as vtr

    vtr("import")
