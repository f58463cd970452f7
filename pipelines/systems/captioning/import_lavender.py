"""`vtr import lavender FILE`: LAVENDER's weights as a captioner for the words of a data set."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import tyro

from pipelines.arguments import run_import
from vtr_core.errors import command_line

if TYPE_CHECKING:
    from torch import Tensor

    from vtr_core.data.manifest import Manifest
    from vtr_core.run.config import TrainConfig
    from vtr_core.text.tokens.vocabulary import Vocabulary


PROJECT = "lavender"


@dataclass(frozen=True)
class LavenderFlags:
    """Flags of `vtr import lavender`."""

    file: Annotated[str, tyro.conf.Positional]
    """File of weights by torch.save; only tensors are read from it."""
    pieces: str = tyro.MISSING
    """BERT's vocab.txt, one piece of a word on each line."""
    data: str = tyro.MISSING
    """Data set of whole videos to train on, whose words and features the captioner is to have."""
    out: str = tyro.MISSING
    """New checkpoint folder or URI, for vtr train … --init."""
    feature: str = "video_swin"
    """Feature column of the frames."""
    grid: int | None = 7
    """Side of the grid of places of a frame; None: a row of the feature is a whole frame."""
    heads: int = 12
    """Attention heads, which the weights do not tell."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    run_import(argv, PROJECT, LavenderFlags, import_lavender)


def import_lavender(flags: LavenderFlags) -> None:
    """Write the checkpoint."""
    from vtr_core.backbones.weights import read_state
    from vtr_core.data.manifest import Manifest, data_set
    from vtr_core.data.shards.word_table import WordTable
    from vtr_core.storage import check_writable, locate
    from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, save_checkpoint

    out = locate(flags.out)
    check_writable(out)
    manifest, state = Manifest.load(data_set(flags.data, "train")), read_state(flags.file)
    config, words = _config(flags, state, manifest), WordTable.load(manifest).vocabulary
    weights = _weights(flags, state, config, words)
    save_checkpoint(out, Checkpoint.imported(PROJECT, config, weights, words))
    layout = ["--model.layout", "bert", "--model.feature", flags.feature, "--model.grid", flags.grid]
    rows = ["--batch.max_frames", config.batch.max_frames]
    start = ["caption-msrvtt-published", "--data", flags.data, "--init", flags.out]
    print(f"checkpoint  {out}: {len(weights)} tensors")
    print(f"next        {command_line('train', *start, *layout, *rows)}")


def _config(flags: LavenderFlags, state: "dict[str, Tensor]", manifest: "Manifest") -> "TrainConfig":
    """A configuration of the file's sizes, with the data set's inputs."""
    from pipelines.systems.captioning.captioner_weights import bert_layout
    from vtr_core.config.override import override
    from vtr_core.run.inputs import with_inputs
    from vtr_core.run.presets import preset

    changes = {
        **bert_layout(state, flags.heads, flags.file),
        "model.feature": flags.feature,
        "model.grid": flags.grid,
        **({} if flags.grid is None else {"batch.max_frames": 16 * flags.grid**2}),
    }
    return with_inputs(override(preset("caption-msrvtt"), changes), manifest)


def _weights(
    flags: LavenderFlags, state: "dict[str, Tensor]", config: "TrainConfig", words: "Vocabulary"
) -> "dict[str, Tensor]":
    """The captioner's weights; CheckpointError where one has another shape than the data set asks for."""
    from pipelines.systems.captioning.captioner_weights import captioner_weights, word_rows
    from vtr_core.errors import CheckpointError
    from vtr_core.run.build import check_model
    from vtr_core.systems.captioning.config import CaptionerConfig

    model = config.model
    assert isinstance(model, CaptionerConfig)
    rows = word_rows(words, flags.pieces, flags.data)
    weights = captioner_weights(state, rows, model.max_tokens, model.grid)
    expected = check_model(model)
    for name in sorted(expected.keys() | weights.keys()):
        shape = tuple(weights[name].shape) if name in weights else "missing"
        if expected.get(name, "not there") != shape:
            raise CheckpointError(
                f"{name} is {shape} in {flags.file}, {expected.get(name, 'not there')} for {flags.data}; give the data "
                "set the features that the weights were trained on"
            )
    return weights
