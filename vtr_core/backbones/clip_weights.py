"""Weights of CLIP under transformers' names, from files with those of OpenAI, open_clip and CLIP4Clip."""

import re
from collections.abc import Mapping

from torch import Tensor

from vtr_core.errors import CheckpointError

_NOT_PARAMETERS = (
    "logit_scale",
    "logit_bias",
    "input_resolution",
    "context_length",
    "vocab_size",
    "attn_mask",
    "position_ids",
)
_WHOLE = {
    "visual.class_embedding": "vision_model.embeddings.class_embedding",
    "visual.conv1.weight": "vision_model.embeddings.patch_embedding.weight",
    "visual.positional_embedding": "vision_model.embeddings.position_embedding.weight",
    "token_embedding.weight": "text_model.embeddings.token_embedding.weight",
    "positional_embedding": "text_model.embeddings.position_embedding.weight",
}
_TURNED = {"visual.proj": "visual_projection.weight", "text_projection": "text_projection.weight"}
"""Linear maps that are stored the other way round."""
_PARTS = (
    (r"^visual\.transformer\.resblocks\.", "vision_model.encoder.layers."),
    (r"^transformer\.resblocks\.", "text_model.encoder.layers."),
    (r"^resblocks\.", "layers."),
    (r"^visual\.ln_pre\.", "vision_model.pre_layrnorm."),
    (r"^visual\.ln_post\.", "vision_model.post_layernorm."),
    (r"^ln_final\.", "text_model.final_layer_norm."),
    (r"\.ln_([12])\.", r".layer_norm\1."),
    (r"\.mlp\.c_fc\.", ".mlp.fc1."),
    (r"\.mlp\.c_proj\.", ".mlp.fc2."),
    (r"\.attn\.out_proj\.", ".self_attn.out_proj."),
)
_QUERIES = re.compile(r"^(.*)\.attn\.in_proj_(weight|bias)$")


def transformers_state(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The parameters of a CLIP under transformers' names, in float32; a name that is not CLIP's stays as it is.

    Weights of CLIP4Clip's checkpoints begin with `clip.`, those of a run of this project with `clip.model.`, those of
    open_clip's later models' texts with `text.`; what else is in such files is left out.
    """
    for prefix in ("clip.model.", "clip."):
        inside = {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
        if inside:
            state = inside
            break
    plain = {name.removeprefix("text."): value for name, value in state.items()}
    parameters = {name: value for name, value in plain.items() if name.rpartition(".")[2] not in _NOT_PARAMETERS}
    if any(name.startswith("vision_model.") for name in parameters):
        return {name: value.float() for name, value in parameters.items()}
    return renamed_layers(parameters)


def renamed_layers(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """OpenAI's names as transformers': three matrices of queries, keys and values instead of one, projections turned.

    `resblocks.…`, the layers of a transformer alone, become `layers.…`.
    """
    renamed: dict[str, Tensor] = {}
    for name, value in state.items():
        queries = _QUERIES.match(name)
        if queries is not None:
            layer, kind = queries.groups()
            if len(value) % 3:
                raise CheckpointError(f"{name} is {tuple(value.shape)}, no three matrices; give the published file")
            for letter, part in zip("qkv", value.float().chunk(3), strict=True):
                renamed[_replaced(f"{layer}.") + f"self_attn.{letter}_proj.{kind}"] = part.contiguous()
        elif name in _TURNED:
            renamed[_TURNED[name]] = value.float().T.contiguous()
        else:
            renamed[_WHOLE.get(name, _replaced(name))] = value.float()
    return renamed


def _replaced(name: str) -> str:
    for pattern, instead in _PARTS:
        name = re.sub(pattern, instead, name)
    return name
