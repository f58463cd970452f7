"""`vtr import clip4clip FILE`: a published checkpoint of CLIP4Clip as one of ours."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from pipelines.arguments import run_import
from vtr_core.errors import command_line

if TYPE_CHECKING:
    from vtr_core.run.config import TrainConfig
    from vtr_core.systems.clip4clip.model import Clip4Clip


PROJECT = "clip4clip"


@dataclass(frozen=True)
class Clip4ClipFlags:
    """Flags of `vtr import clip4clip`."""

    file: Annotated[str, tyro.conf.Positional]
    """File of weights of CLIP (with OpenAI's, open_clip's or transformers' names) or CLIP4Clip (pytorch_model.bin.N);
    only tensors are read; or a folder or hub id (hf:…) of a model of transformers: CLIP, SigLIP, SigLIP 2."""
    out: str = tyro.MISSING
    """New checkpoint folder or URI."""
    tokenizer: str | None = None
    """For a file: its tokenizer, a folder, a tokenizer.json or CLIP's merges (merges.txt,
    bpe_simple_vocab_16e6.txt.gz). Default: the one beside the file, else open_clip's where that is installed."""
    activation: Literal["quick_gelu", "gelu"] = "quick_gelu"
    """For a file: gelu for open_clip's models without quickgelu in their name."""
    max_frames: int = 12
    """Frames of a video; 64 for DiDeMo and ActivityNet."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    run_import(argv, PROJECT, Clip4ClipFlags, import_clip4clip)


def import_clip4clip(flags: Clip4ClipFlags) -> None:
    """Write the checkpoint."""
    from vtr_core.storage import check_writable, locate
    from vtr_core.text.tokens.vocabulary import Vocabulary
    from vtr_core.train.checkpoint.checkpoint_files import Checkpoint, save_checkpoint

    out = locate(flags.out)
    check_writable(out)
    folder = Path(flags.file).is_dir() or flags.file.startswith("hf:")
    config, model = _of_source(flags) if folder else _of_file(flags)
    save_checkpoint(out, Checkpoint.imported(PROJECT, config, model.state_dict(), Vocabulary.utf8()))
    size = model.config.backbone.image_size
    print(f"checkpoint  {out}")
    command = command_line("evaluate", flags.out, "--data", "URI")
    print(f"next        {command}, a data set of --records frames --frame-size {size}")


def _of_source(flags: Clip4ClipFlags) -> "tuple[TrainConfig, Clip4Clip]":
    from vtr_core.systems.clip4clip.model import load_pretrained

    source = flags.file if flags.file.startswith("hf:") else f"hf:{flags.file}"
    config, model = _built({"model.backbone.source": source}, flags)
    load_pretrained(model)
    return config, model


def _of_file(flags: Clip4ClipFlags) -> "tuple[TrainConfig, Clip4Clip]":
    from pipelines.systems.clip4clip.clip4clip_weights import published
    from vtr_core.backbones.weights import read_state
    from vtr_core.encoders.trainable_source import load_pretrained, tokenizer_near
    from vtr_core.errors import CheckpointError, InputError

    try:
        weights = published(read_state(flags.file))
    except CheckpointError as error:
        raise CheckpointError(f"{flags.file}: {error}") from error
    tokenizer = flags.tokenizer or tokenizer_near(Path(flags.file))
    text = {"model.backbone.tokenizer": tokenizer, "model.backbone.activation": flags.activation}
    config, model = _built({**weights.changes, **text}, flags)
    tokens = model.clip.model.config.text_config.vocab_size
    if tokens != weights.tokens:
        raise InputError(
            f"{tokenizer} makes {tokens} tokens, the model has {weights.tokens}; give the tokenizer that it was "
            "trained with, --tokenizer"
        )
    weights.load_into(model, flags.file)
    load_pretrained(model.clip)
    return config, model


def _built(changes: dict[str, object], flags: Clip4ClipFlags) -> "tuple[TrainConfig, Clip4Clip]":
    """The configuration with what its source or tokenizer decides, and its model."""
    from vtr_core.config.override import override
    from vtr_core.run.build import build_model
    from vtr_core.run.presets import preset
    from vtr_core.systems.clip4clip.config import Clip4ClipConfig
    from vtr_core.systems.clip4clip.model import Clip4Clip

    config = override(preset("clip4clip-msrvtt"), {**changes, "batch.max_frames": flags.max_frames})
    decided = config.model.system().of_source(config.model)
    config = override(config, {**decided, "model.stored_size": decided["model.backbone"]["image_size"]})
    assert isinstance(config.model, Clip4ClipConfig)
    model = build_model(config.model)
    assert isinstance(model, Clip4Clip)
    return config, model
