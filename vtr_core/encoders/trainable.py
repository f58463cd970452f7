"""A joint encoder of pictures and texts whose weights are trained: a model of transformers, built without its source.

The network is the library's own (CLIP, SigLIP, SigLIP 2, MetaCLIP 2, …); here are what training asks of it beside its
vectors: layers by depth for freezing and learning rates, patches in the joint space, and captions as ids.
"""

import json
import re
import zlib
from typing import Any

import torch
from jaxtyping import Bool, Float, Int64, UInt8
from tokenizers import Tokenizer
from torch import Tensor, nn

from vtr_core.config.pretrained import Activation, ClipConfig, TransformerSize
from vtr_core.encoders.weights import quiet_loading
from vtr_core.errors import ConfigError
from vtr_core.nn.backbone import Backbone
from vtr_core.text.tokens.vocabulary import texts_of

NUM_SPECIAL = 2
"""A caption's start and end; in this order, their ids follow those of the words of a CLIP without a source."""
MEAN, DEVIATION = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
"""CLIP's mean and standard deviation of the channels red, green and blue, for pixel values from 0 to 1."""
_LAYER = re.compile(r"^(?:vision_model|text_model)\.(?:.*\.)?layers?\.(\d+)\.")
_SCALES = ("logit_scale", "logit_bias")


class TrainableEncoder(Backbone):
    """Pictures and captions in one space. The temperature is the loss's: the library's own scale and bias are left out.

    Captions are texts in UTF-8 (`Vocabulary.utf8`) where the configuration has a `record`: the encoder's own tokenizer,
    a part of the model's state, cuts them. Otherwise they are rows of the data set's word ids, padded with 0.
    """

    tokenizer: Tensor
    """tokenizers' JSON, compressed; empty where captions are word ids."""
    _mean: Tensor
    _deviation: Tensor

    def __init__(self, config: ClipConfig, num_words: int) -> None:
        super().__init__()
        record = config.record
        if record is None and config.reads_texts:
            raise ConfigError("the encoder's source was not read; start the run with vtr train, which records it")
        self.config, self.num_words = config, num_words
        self.model = build_network(clip_architecture(config, num_words) if record is None else record.architecture)
        size = 0 if record is None else record.tokenizer_bytes
        self.register_buffer("tokenizer", torch.zeros(size, dtype=torch.uint8))
        self._tokenizer: Tokenizer | None = None
        self.register_load_state_dict_post_hook(_loaded)
        mean, deviation = (MEAN, DEVIATION) if record is None else (record.mean, record.deviation)
        for name, values in (("_mean", mean), ("_deviation", deviation)):
            self.register_buffer(name, torch.tensor(values).view(3, 1, 1), persistent=False)
        if config.recompute:
            self.model.gradient_checkpointing_enable({"use_reentrant": False})
        self.freeze_layers(config.freeze)

    def encode_pictures(self, pictures: UInt8[Tensor, "pictures 3 height width"]) -> Float[Tensor, "pictures dim"]:
        """The vector of each RGB picture."""
        vectors: Tensor = self._outputs(pictures).pooler_output
        return vectors

    def encode_patches(
        self, pictures: UInt8[Tensor, "pictures 3 height width"]
    ) -> Float[Tensor, "pictures tokens dim"]:
        """The vector of each picture, and then those of its patches row by row.

        CLIP's patches pass its last LayerNorm and projection, W LN(x), as [CLS] does (Luo et al. 2021; Tang et al.
        2025). SigLIP's are those that it pools: as wide as its space, but before the pooling. ConfigError for a model
        whose patches are of another width.
        """
        output = self._outputs(pictures)
        patches = output.last_hidden_state
        if hasattr(self.model, "visual_projection"):
            patches = self.model.visual_projection(self.model.vision_model.post_layernorm(patches[:, 1:]))
        if patches.shape[1:] != (self.config.grid**2, self.config.embedding_dim):
            raise ConfigError(
                f"{self.model.config.model_type} gives no {self.config.grid} × {self.config.grid} patches as wide as "
                "the space of its pictures, over which MUSE's block works; choose model.frames.kind mean or transformer"
            )
        return torch.cat([output.pooler_output.unsqueeze(1), patches], dim=1)

    def encode_text(self, tokens: Int64[Tensor, "captions max_words"]) -> Float[Tensor, "captions dim"]:
        """The vector of each caption. Raises ConfigError for rows of words that are longer than the context."""
        ids, mask = self.text_ids(tokens)
        vectors: Tensor = self.model.get_text_features(input_ids=ids, attention_mask=mask).pooler_output
        return vectors

    def text_ids(
        self, tokens: Int64[Tensor, "captions max_words"]
    ) -> tuple[Int64[Tensor, "captions length"], Int64[Tensor, "captions length"] | None]:
        """Ids of the network's tokens, and which are no padding; None for a network that reads padding too."""
        if not self.config.reads_texts:
            return self._with_ends(tokens), None
        cutter = self._cutter()
        encoded = cutter.encode_batch(texts_of(tokens.cpu().numpy()))
        ids = torch.tensor([text.ids for text in encoded], device=tokens.device)
        padding = cutter.padding
        if padding is not None and padding["length"] is not None:
            return ids, None
        return ids, torch.tensor([text.attention_mask for text in encoded], device=tokens.device)

    def take_tokenizer(self, content: bytes) -> None:
        """Use the tokenizer that `packed_tokenizer` wrote."""
        self.tokenizer.copy_(torch.frombuffer(bytearray(content), dtype=torch.uint8))
        self.forget_tokenizer()

    def forget_tokenizer(self) -> None:
        """The state has another one."""
        self._tokenizer = None

    def layers_by_depth(self) -> list[list[nn.Parameter]]:
        """The parameters by depth: embeddings (0), transformer layers, heads and projections; both sides together."""
        parameters = list(self.model.named_parameters())
        layers = {name: int(match[1]) for name, _ in parameters if (match := _LAYER.match(name))}
        deepest = max(layers.values(), default=-1) + 1
        by_depth: list[list[nn.Parameter]] = [[] for _ in range(deepest + 2)]
        for name, parameter in parameters:
            first = ".embeddings." in name or ".pre_la" in name  # CLIP's LayerNorm is named pre_layrnorm
            by_depth[layers[name] + 1 if name in layers else 0 if first else deepest + 1].append(parameter)
        return by_depth

    def _outputs(self, pictures: UInt8[Tensor, "pictures 3 height width"]) -> Any:
        values = (pictures.to(self._mean.dtype) / 255 - self._mean) / self._deviation
        if self.model.config.model_type != "siglip2":
            return self.model.get_image_features(pixel_values=values)
        side, patch = self.config.grid, self.config.patch
        squares = values.unflatten(3, (side, patch)).unflatten(2, (side, patch))
        patches = squares.permute(0, 2, 4, 3, 5, 1).reshape(len(values), side * side, -1)
        return self.model.get_image_features(
            pixel_values=patches,
            pixel_attention_mask=torch.ones(patches.shape[:2], dtype=torch.int64, device=values.device),
            spatial_shapes=torch.full((len(values), 2), side),
        )

    def _cutter(self) -> Tokenizer:
        if self._tokenizer is None:
            self._tokenizer = Tokenizer.from_str(zlib.decompress(self.tokenizer.cpu().numpy().tobytes()).decode())
        return self._tokenizer

    def _with_ends(self, tokens: Int64[Tensor, "captions max_words"]) -> Int64[Tensor, "captions max_words_and_ends"]:
        """Start, words, end, and padding, which no token up to the end attends to."""
        if tokens.shape[1] + NUM_SPECIAL > self.config.context:
            raise ConfigError(
                f"captions of up to {tokens.shape[1]} words and their start and end are longer than the context of "
                f"{self.config.context} tokens; make the data set with --max-words {self.config.context - NUM_SPECIAL}"
            )
        rows, known = len(tokens), tokens != 0
        words = torch.where(known, tokens - 1, 0)
        start, end = self.num_words, self.num_words + 1
        framed = torch.cat([words.new_full((rows, 1), start), words, words.new_zeros((rows, 1))], dim=1)
        return framed.scatter(1, known.sum(dim=1, keepdim=True) + 1, end)


class ClipLayers(nn.Module):
    """CLIP's transformer layers over vectors of any kind, newly drawn as those of CLIP's text transformer."""

    def __init__(self, size: TransformerSize, activation: Activation = "quick_gelu") -> None:
        super().__init__()
        from transformers import CLIPTextConfig, CLIPTextModel

        special: dict[str, Any] = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"))
        text = CLIPTextConfig(**_side(size, activation), **special, vocab_size=1, max_position_embeddings=1)
        self.layers = CLIPTextModel(text).encoder.layers

    def forward(
        self, vectors: Float[Tensor, "rows places width"], attended: Bool[Tensor, "rows places places"]
    ) -> Float[Tensor, "rows places width"]:
        """The vectors after all layers; attended[r, i, j]: in row r place i attends to place j."""
        for layer in self.layers:
            vectors = layer(vectors, attended.unsqueeze(1))
        return vectors


def build_network(architecture: dict[str, Any]) -> Any:
    """transformers' model of a configuration, newly drawn, in float32. ConfigError for one without the two features."""
    from transformers import AutoConfig, AutoModel

    quiet_loading()
    settings = dict(architecture)
    try:
        config = AutoConfig.for_model(settings.pop("model_type"), **settings)
        network = AutoModel.from_config(config, dtype=torch.float32)
    except (KeyError, TypeError, ValueError) as error:
        fault = " ".join(str(error).split())[:200]
        raise ConfigError(f"transformers builds no model of the recorded architecture ({fault})") from error
    for name in _SCALES:
        if hasattr(network, name):
            delattr(network, name)
    return network


def clip_architecture(config: ClipConfig, num_words: int) -> dict[str, Any]:
    """transformers' configuration of a CLIP of the sizes of `config`, as JSON; start and end follow the words."""
    from transformers import CLIPConfig

    start, end = num_words, num_words + 1
    text = {**_side(config.text, config.activation), "vocab_size": end + 1, "max_position_embeddings": config.context}
    vision = {
        **_side(config.vision, config.activation),
        "image_size": config.image_size,
        "patch_size": config.patch,
    }
    special = {"bos_token_id": start, "eos_token_id": end, "pad_token_id": None}
    dim: dict[str, Any] = {"projection_dim": config.embedding_dim}
    return architecture_json(CLIPConfig(text_config={**text, **special, **dim}, vision_config={**vision, **dim}, **dim))


def architecture_json(config: Any) -> dict[str, Any]:
    """A configuration of transformers as JSON gives it back."""
    made: dict[str, Any] = json.loads(config.to_json_string(use_diff=False))
    return made


def packed_tokenizer(tokenizer: Tokenizer) -> bytes:
    """A tokenizer with its padding and truncation, for the state of a model."""
    return zlib.compress(tokenizer.to_str().encode(), 9)


def _side(size: TransformerSize, activation: Activation) -> dict[str, Any]:
    return {
        "hidden_size": size.width,
        "intermediate_size": 4 * size.width,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "hidden_act": activation,
    }


def _loaded(model: nn.Module, _: Any) -> None:
    assert isinstance(model, TrainableEncoder)
    model.forget_tokenizer()
