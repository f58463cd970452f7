"""`vtr import lavender FILE`: LAVENDER's weights as a captioner for the words of a data set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import torch
import tyro
from jaxtyping import Float
from torch import Tensor

from pipelines.arguments import run_import
from vtr_core import storage
from vtr_core.errors import CheckpointError, InputError
from vtr_core.storage import locate
from vtr_core.text.tokens.vocabulary import Vocabulary

if TYPE_CHECKING:
    from vtr_core.data.manifest import Manifest
    from vtr_core.run.config import TrainConfig


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
    layout = f"--model.layout bert --model.feature {flags.feature} --model.grid {flags.grid}"
    rows = f"--batch.max_frames {config.batch.max_frames}"
    print(f"checkpoint  {out}: {len(weights)} tensors")
    print(f"next        vtr train caption-msrvtt-published --data {flags.data} --init {flags.out} {layout} {rows}")


def _config(flags: LavenderFlags, state: "dict[str, Tensor]", manifest: "Manifest") -> "TrainConfig":
    """A configuration of the file's sizes, with the data set's inputs."""
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


State = Mapping[str, Tensor]
_TEXT, _SCORES, _LAYERS = "enc_txt.emb_txt.", "fc_mtm.predictions.", "trsfr.layer."
_WORDS = {
    "word_norm": f"{_TEXT}LayerNorm",
    "head.0": f"{_SCORES}transform.dense",
    "head.2": f"{_SCORES}transform.LayerNorm",
}
_FRAMES = {"frames.0": "enc_img.fc", "video_norm": "enc_img.norm"}
_BLOCK = {
    "out": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "mlp.0": "intermediate.dense",
    "mlp.2": "output.dense",
    "mlp_norm": "output.LayerNorm",
}
_BOTH = ("weight", "bias")


def num_layers(state: State) -> int:
    """The number of transformer layers of a file that has some."""
    return 1 + max(int(name.removeprefix(_LAYERS).split(".")[0]) for name in state if name.startswith(_LAYERS))


def bert_layout(state: State, heads: int, file: str) -> dict[str, Any]:
    """The settings of a captioner of a file's sizes; CheckpointError for a file of another network."""
    first = f"{_LAYERS}0.intermediate.dense.weight"
    if first not in state:
        raise CheckpointError(f"{file} lacks {first}; give a checkpoint of LAVENDER")
    mlp, hidden = state[first].shape
    return {
        "model.layout": "bert",
        "model.standardize": False,
        "model.hidden_dim": hidden,
        "model.mlp_dim": mlp,
        "model.layers": num_layers(state),
        "model.heads": heads,
    }


def captioner_weights(
    state: State, rows: Sequence[Sequence[int]], max_tokens: int, grid: int | None
) -> dict[str, Tensor]:
    """The parameters of a captioner under their names here. CheckpointError where the file lacks one.

    rows: for each word of the vocabulary, then the end of captions and [MASK], the file's pieces of words that it
    consists of, whose mean it is.
    """
    weights = {
        "words.weight": _padded(_means(_take(state, f"{_TEXT}word_embeddings.weight"), rows)),
        "bias": _padded(_means(_take(state, f"{_SCORES}bias"), rows)),
        "places": _places(state, max_tokens),
        **_times(_take(state, "enc_img.emb_len").flatten(0, 2)),
        **_pairs(state, {**_WORDS, **_FRAMES}),
    }
    for layer in range(num_layers(state)):
        weights |= _block(state, f"blocks.{layer}.", f"{_LAYERS}{layer}.")
    if grid is not None:
        places = _take(state, "enc_img.emb_pos").flatten(0, 2)
        if len(places) < 1 + grid**2:
            raise CheckpointError(
                f"the file has {len(places) - 1} places of a frame, not {grid} × {grid}; lower --grid"
            )
        weights["grid"] = places[1 : 1 + grid**2]
    return {name: value.float().contiguous() for name, value in weights.items()}


def _pairs(state: State, names: Mapping[str, str]) -> dict[str, Tensor]:
    """Weights and biases of layers by their names here and there."""
    return {f"{own}.{kind}": _take(state, f"{their}.{kind}") for own, their in names.items() for kind in _BOTH}


def _block(state: State, ours: str, theirs: str) -> dict[str, Tensor]:
    """A layer's parameters; queries, keys and values are one matrix here."""
    weights = {f"{ours}{o}.{kind}": _take(state, f"{theirs}{t}.{kind}") for o, t in _BLOCK.items() for kind in _BOTH}
    for kind in _BOTH:
        parts = [_take(state, f"{theirs}attention.self.{part}.{kind}") for part in ("query", "key", "value")]
        weights[f"{ours}projections.{kind}"] = torch.cat(parts)
    return weights


def _places(state: State, max_tokens: int) -> Float[Tensor, "max_tokens hidden"]:
    """Positions after that of the start token, with the embedding of the only segment."""
    positions = _take(state, f"{_TEXT}position_embeddings.weight")
    if len(positions) <= max_tokens:
        raise CheckpointError(f"the file has {len(positions)} positions, too few for captions of {max_tokens} tokens")
    return positions[1 : 1 + max_tokens] + _take(state, f"{_TEXT}token_type_embeddings.weight")[0]


def _times(table: Float[Tensor, "frames hidden"]) -> dict[str, Tensor]:
    """The line a t + b, t from 0 at the first frame to 1 at the last, with the least squared distance."""
    table = table.double()
    time = torch.linspace(0, 1, len(table), dtype=table.dtype) if len(table) > 1 else table.new_zeros(1)
    line = torch.linalg.lstsq(torch.stack([time, torch.ones_like(time)], dim=1), table, driver="gelsd").solution
    return {"times.weight": line[0].unsqueeze(1), "times.bias": line[1]}


def _means(values: Float[Tensor, "..."], rows: Sequence[Sequence[int]]) -> Float[Tensor, "..."]:
    return torch.stack([values[list(row)].float().mean(dim=0) for row in rows])


def _padded(values: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    return torch.cat([torch.zeros_like(values[:1]), values])


def _take(state: State, name: str) -> Tensor:
    if name not in state:
        raise CheckpointError(f"the file lacks {name} (LAVENDER's name of it); give the published checkpoint")
    return state[name]


def word_rows(words: Vocabulary, file: str, data: str) -> list[list[int]]:
    """For each word of a data set's vocabulary, then the end of captions and [MASK], its rows in BERT's vocab.txt.

    InputError for a file that is none, and for words with tags.
    """
    if words.tags is not None:
        raise InputError(f"{data} has words with tags; make it with plain words")
    return pieces_of([*words.words, "[SEP]", "[MASK]"], _lines(file))


def pieces_of(words: Sequence[str], pieces: Sequence[str]) -> list[list[int]]:
    """Each word as rows of the longest pieces from its start on, those after the first with ## (Wu et al. 2016).

    The row of [UNK] for a word that the pieces do not make. InputError where the pieces lack a special one.
    """
    row = {piece: place for place, piece in enumerate(pieces)}
    lacking = [piece for piece in ("[UNK]", "[SEP]", "[MASK]") if piece not in row]
    if lacking:
        raise InputError(f"the pieces of words lack {', '.join(lacking)}; give BERT's vocab.txt")
    return [_cut(word, row) or [row["[UNK]"]] for word in words]


def _cut(word: str, row: Mapping[str, int]) -> list[int]:
    pieces, first = list[int](), 0
    while first < len(word):
        prefix = "##" if first else ""
        ends = (end for end in range(len(word), first, -1) if prefix + word[first:end] in row)
        end = next(ends, None)
        if end is None:
            return []
        pieces.append(row[prefix + word[first:end]])
        first = end
    return pieces


def _lines(file: str) -> list[str]:
    try:
        return storage.read_bytes(locate(file)).decode().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read as text ({error}); give BERT's vocab.txt") from error
