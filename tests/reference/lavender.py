"""LAVENDER's captioning scores by its own names, head by head, token by token, for one video and one caption."""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

State = Mapping[str, Tensor]


def linear(x: Tensor, state: State, name: str) -> Tensor:
    return x @ state[f"{name}.weight"].T + state[f"{name}.bias"]


def norm(x: Tensor, state: State, name: str) -> Tensor:
    deviation = torch.sqrt(x.var(unbiased=False) + 1e-5)
    return (x - x.mean()) / deviation * state[f"{name}.weight"] + state[f"{name}.bias"]


def gelu(x: Tensor) -> Tensor:
    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def layer(tokens: list[Tensor], state: State, name: str, heads: int, frames: int) -> list[Tensor]:
    """One layer of BERT: videos' tokens see each other, a word sees them and the words up to itself."""
    parts = {
        kind: [linear(x, state, f"{name}.attention.self.{kind}") for x in tokens] for kind in ("query", "key", "value")
    }
    width, found = len(tokens[0]) // heads, []
    for place, token in enumerate(tokens):
        seen = range(max(frames, place + 1)) if place >= frames else range(frames)
        attended = []
        for head in range(heads):
            own = slice(head * width, (head + 1) * width)
            scores = [parts["query"][place][own] @ parts["key"][i][own] / math.sqrt(width) for i in seen]
            shares = torch.stack(scores).softmax(dim=0)
            attended.append(sum(share * parts["value"][i][own] for share, i in zip(shares, seen, strict=True)))
        out = linear(torch.cat(attended), state, f"{name}.attention.output.dense")
        middle = norm(token + out, state, f"{name}.attention.output.LayerNorm")
        wide = gelu(linear(middle, state, f"{name}.intermediate.dense"))
        found.append(norm(middle + linear(wide, state, f"{name}.output.dense"), state, f"{name}.output.LayerNorm"))
    return found


def scores(
    state: State, frames: Sequence[Sequence[Tensor]], times: Sequence[Tensor], pieces: Sequence[int], heads: int
) -> list[Tensor]:
    """Of all pieces at each of the given ones. frames: of each frame its places' features; times: of each frame.

    The first piece has position 1, behind the start token, which is not there.
    """
    tokens = []
    for places, time in zip(frames, times, strict=True):
        for place, feature in enumerate(places):
            seen = linear(feature, state, "enc_img.fc") + state["enc_img.emb_pos"][0, 0, 1 + place] + time
            tokens.append(norm(seen, state, "enc_img.norm"))
    text = "enc_txt.emb_txt."
    count = len(tokens)
    for place, piece in enumerate(pieces):
        given = state[f"{text}word_embeddings.weight"][piece] + state[f"{text}position_embeddings.weight"][1 + place]
        tokens.append(norm(given + state[f"{text}token_type_embeddings.weight"][0], state, f"{text}LayerNorm"))
    for number in range(sum(name.endswith("attention.self.query.bias") for name in state)):
        tokens = layer(tokens, state, f"trsfr.layer.{number}", heads, count)
    head = "fc_mtm.predictions."
    states = [
        norm(gelu(linear(x, state, f"{head}transform.dense")), state, f"{head}transform.LayerNorm") for x in tokens
    ]
    return [x @ state[f"{text}word_embeddings.weight"].T + state[f"{head}bias"] for x in states[count:]]
