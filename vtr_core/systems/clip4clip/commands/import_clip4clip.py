"""`vtr import clip4clip FILE`: a published checkpoint of CLIP4Clip as one of ours."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro

from pipelines.imported import run_import

PROJECT = "clip4clip"


@dataclass(frozen=True)
class Clip4ClipFlags:
    """Flags of `vtr import clip4clip`."""

    file: Annotated[str, tyro.conf.Positional]
    """File of weights, pytorch_model.bin.N or .safetensors; only tensors are read from it."""
    merges: str = tyro.MISSING
    """CLIP's file of merges, bpe_simple_vocab_16e6.txt.gz or merges.txt."""
    out: str = tyro.MISSING
    """New checkpoint folder or URI."""
    max_words: int = 32
    """Words kept of a caption, in CLIP's pieces; 64 for paragraphs."""
    max_frames: int = 12
    """Frames of a video; 64 for DiDeMo and ActivityNet."""
    json: bool = False
    """Print the result as JSON, alone on standard output."""


def main(argv: Sequence[str]) -> None:
    """Run the command."""
    run_import(argv, PROJECT, Clip4ClipFlags, import_clip4clip)


def import_clip4clip(flags: Clip4ClipFlags) -> None:
    """Write the checkpoint."""
    from vtr_core.backbones.weights import read_state
    from vtr_core.config.override import override
    from vtr_core.errors import CheckpointError, InputError
    from vtr_core.run.presets import preset
    from vtr_core.storage import check_writable, locate
    from vtr_core.systems.clip4clip.commands.published_weights import published_config, published_weights
    from vtr_core.text.tokens.byte_pairs import read_byte_pairs
    from vtr_core.text.tokens.vocabulary import Vocabulary
    from vtr_core.train.checkpoint.files import Checkpoint, save_checkpoint

    out = locate(flags.out)
    check_writable(out)
    given = {"model.inputs.max_words": flags.max_words, "batch.max_frames": flags.max_frames}
    state = read_state(flags.file)
    try:
        config = published_config(state, override(preset("clip4clip-msrvtt"), given))
        weights = published_weights(state, config)
    except CheckpointError as error:
        raise CheckpointError(f"{flags.file}: {error}") from error
    words = Vocabulary.of_pairs(read_byte_pairs(flags.merges))
    if len(words) != config.model.inputs.num_words:
        raise InputError(
            f"{flags.merges} makes {len(words)} pieces of words, the model has {config.model.inputs.num_words}; "
            "give the merges that it was trained with"
        )
    save_checkpoint(out, Checkpoint.imported(PROJECT, config, weights, words))
    print(f"checkpoint  {out}")
    print(f"next        vtr evaluate {flags.out} --data <data set of frames, made with --clip-merges>")
