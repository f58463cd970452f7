"""Published weights of LAVENDER and BERT as those of a captioner, and words as pieces of BERT's words."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from vtr_core import storage
from vtr_core.errors import CheckpointError, InputError
from vtr_core.storage import locate
from vtr_core.text.tokens.vocabulary import Vocabulary

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
        raise CheckpointError(f"{file} lacks {first}; give a checkpoint of LAVENDER, or of BERT to vtr import bert")
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
    weights = language_weights(state, rows, max_tokens) | _times(_take(state, "enc_img.emb_len").flatten(0, 2))
    weights |= _pairs(state, _FRAMES)
    if grid is not None:
        places = _take(state, "enc_img.emb_pos").flatten(0, 2)
        if len(places) < 1 + grid**2:
            raise CheckpointError(
                f"the file has {len(places) - 1} places of a frame, not {grid} × {grid}; lower --grid"
            )
        weights["grid"] = places[1 : 1 + grid**2]
    return {name: value.float().contiguous() for name, value in weights.items()}


def language_weights(state: State, rows: Sequence[Sequence[int]], max_tokens: int) -> dict[str, Tensor]:
    """Those of `captioner_weights` that read and score words: all but what reads frames."""
    weights = {
        "words.weight": _padded(_means(_take(state, f"{_TEXT}word_embeddings.weight"), rows)),
        "bias": _padded(_means(_take(state, f"{_SCORES}bias"), rows)),
        "places": _places(state, max_tokens),
        **_pairs(state, _WORDS),
    }
    for layer in range(num_layers(state)):
        weights |= _block(state, f"blocks.{layer}.", f"{_LAYERS}{layer}.")
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
