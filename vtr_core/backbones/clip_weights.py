"""Weights of CLIP from files, under the names of OpenAI and open_clip, or of transformers."""

import re
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from vtr_core.backbones.weights import load_state, read_state
from vtr_core.errors import CheckpointError
from vtr_core.nn.clip.clip import Clip

_NOT_PARAMETERS = ("logit_scale", "input_resolution", "context_length", "vocab_size", "attn_mask")
_WHOLE = {
    "vision_model.embeddings.class_embedding": "visual.class_embedding",
    "vision_model.embeddings.patch_embedding.weight": "visual.conv1.weight",
    "vision_model.embeddings.position_embedding.weight": "visual.positional_embedding",
    "text_model.embeddings.token_embedding.weight": "token_embedding.weight",
    "text_model.embeddings.position_embedding.weight": "positional_embedding",
}
_TURNED = {"visual_projection.weight": "visual.proj", "text_projection.weight": "text_projection"}
"""Linear maps that are stored the other way round."""
_PARTS = (
    (r"^vision_model\.encoder\.layers\.", "visual.transformer.resblocks."),
    (r"^text_model\.encoder\.layers\.", "transformer.resblocks."),
    (r"^vision_model\.pre_layrnorm\.", "visual.ln_pre."),
    (r"^vision_model\.post_layernorm\.", "visual.ln_post."),
    (r"^text_model\.final_layer_norm\.", "ln_final."),
    (r"\.layer_norm([12])\.", r".ln_\1."),
    (r"\.mlp\.fc1\.", ".mlp.c_fc."),
    (r"\.mlp\.fc2\.", ".mlp.c_proj."),
    (r"\.self_attn\.out_proj\.", ".attn.out_proj."),
)
_QUERY = re.compile(r"^(.*)\.self_attn\.q_proj\.(weight|bias)$")


def load_clip(clip: Clip, file: str) -> None:
    """Load all parameters of `clip`; CheckpointError where the file is missing or of another network."""
    if not Path(file).is_file():
        raise CheckpointError(f"there is no file of weights {file}; give model.backbone.weights a file on every node")
    state = clip_state(read_state(file))
    words = state.get("token_embedding.weight")
    if words is not None and len(words) != len(clip.token_embedding.weight):
        raise CheckpointError(
            f"{file} has {len(words)} tokens, the data set's vocabulary has {len(clip.token_embedding.weight)} with "
            "those of start and end; for published weights make the data set with vtr extract --clip-merges FILE, "
            "or give weights that were trained with the data set's vocabulary"
        )
    load_state(clip, state, file)


def clip_state(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The parameters under OpenAI's names, in float32; a prefix `clip.` of CLIP4Clip's checkpoints is removed."""
    inside = {name.removeprefix("clip."): value for name, value in state.items() if name.startswith("clip.")}
    named = inside or state
    if any(name.startswith("vision_model.") for name in named):
        named = _renamed(named)
    return {name: value.float() for name, value in named.items() if name.rpartition(".")[2] not in _NOT_PARAMETERS}


def _renamed(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """From transformers' names: queries, keys and values are one matrix, and projections are turned."""
    found: dict[str, Tensor] = {}
    for name, value in state.items():
        query = _QUERY.match(name)
        if query is not None:
            layer, kind = query.groups()
            parts = [_member(state, f"{layer}.self_attn.{which}_proj.{kind}") for which in "qkv"]
            found[_replaced(layer + ".") + f"attn.in_proj_{kind}"] = torch.cat(parts)
        elif name in _TURNED:
            found[_TURNED[name]] = value.T.contiguous()
        elif not (".self_attn.k_proj." in name or ".self_attn.v_proj." in name or name.endswith("position_ids")):
            found[_WHOLE.get(name, _replaced(name))] = value
    return found


def _member(state: Mapping[str, Tensor], name: str) -> Tensor:
    if name not in state:
        raise CheckpointError(f"the weights lack {name}; give the published file")
    return state[name]


def _replaced(name: str) -> str:
    for pattern, instead in _PARTS:
        name = re.sub(pattern, instead, name)
    return name
