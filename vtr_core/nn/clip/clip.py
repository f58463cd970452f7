"""CLIP: images and captions in one joint space (Radford et al. 2021)."""

import torch
from jaxtyping import Float, Int64, UInt8
from torch import Tensor, nn

from vtr_core.config.blocks.clip import ClipConfig
from vtr_core.errors import ConfigError
from vtr_core.nn.backbone import Backbone
from vtr_core.nn.clip.transformer import Transformer, initialize

NUM_SPECIAL = 2
"""The number of special tokens, a caption's start and end; in this order, their ids follow those of the words."""
MEAN, DEVIATION = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
"""Mean and standard deviation of the channels red, green and blue, for pixel values from 0 to 1."""


class VisionTransformer(nn.Module):
    """Every token of a picture, [CLS] first and then the patches row by row, in the joint space: LN(x) W."""

    _mean: Tensor
    _deviation: Tensor

    def __init__(self, config: ClipConfig) -> None:
        super().__init__()
        size, width = config.vision, config.vision.width
        scale = width**-0.5
        self.conv1 = nn.Conv2d(3, width, config.patch, config.patch, bias=False)
        self.class_embedding = nn.Parameter(scale * torch.randn(width))
        self.positional_embedding = nn.Parameter(scale * torch.randn(config.grid**2 + 1, width))
        self.ln_pre, self.ln_post = nn.LayerNorm(width), nn.LayerNorm(width)
        self.transformer = Transformer(width, size.layers, size.heads, config.recompute, config.activation)
        self.proj = nn.Parameter(scale * torch.randn(width, config.embedding_dim))
        for name, values in (("_mean", MEAN), ("_deviation", DEVIATION)):
            self.register_buffer(name, torch.tensor(values).view(3, 1, 1), persistent=False)
        initialize(self.transformer, width)

    def forward(self, pictures: UInt8[Tensor, "pictures 3 height width"]) -> Float[Tensor, "pictures tokens dim"]:
        """pictures: RGB."""
        values = (pictures.to(self._mean.dtype) / 255 - self._mean) / self._deviation
        patches = self.conv1(values).flatten(2).transpose(1, 2)
        first = self.class_embedding.to(patches.dtype).expand(len(patches), 1, -1)
        tokens = self.ln_pre(torch.cat([first, patches], dim=1) + self.positional_embedding.to(patches.dtype))
        return self.ln_post(self.transformer(tokens)) @ self.proj


class Clip(Backbone):
    """The two transformers; a caption's embedding is that of its end token, [EOT].

    Captions are rows of ids from 1 to `num_words`, padded with 0; the published id of a token is one less.
    """

    _hidden: Tensor

    def __init__(self, config: ClipConfig, num_words: int) -> None:
        super().__init__()
        self.config, self.num_words = config, num_words
        size, width = config.text, config.text.width
        self.visual = VisionTransformer(config)
        self.token_embedding = nn.Embedding(num_words + NUM_SPECIAL, width)
        self.positional_embedding = nn.Parameter(0.01 * torch.randn(config.context, width))
        self.transformer = Transformer(width, size.layers, size.heads, config.recompute, config.activation)
        self.ln_final = nn.LayerNorm(width)
        self.text_projection = nn.Parameter(width**-0.5 * torch.randn(width, config.embedding_dim))
        nn.init.normal_(self.token_embedding.weight, std=0.02)
        initialize(self.transformer, width)
        hidden = torch.ones(config.context, config.context, dtype=torch.bool).triu(1)
        self.register_buffer("_hidden", hidden, persistent=False)
        self.freeze_layers(config.freeze)

    def encode_text(self, tokens: Int64[Tensor, "captions max_words"]) -> Float[Tensor, "captions dim"]:
        """The [EOT] of each caption in the joint space. Raises ConfigError for captions longer than the context."""
        words = self.with_ends(tokens)
        length = words.shape[1]
        if length > self.config.context:
            raise ConfigError(
                f"captions of up to {tokens.shape[1]} words and their start and end are longer than the context of "
                f"{self.config.context} tokens; make the data set with --max-words {self.config.context - NUM_SPECIAL}"
            )
        given = self.token_embedding(words) + self.positional_embedding[:length]
        found = self.ln_final(self.transformer(given, self._hidden[:length, :length]))
        last = (tokens != 0).sum(dim=1) + 1
        return found[torch.arange(len(found), device=found.device), last] @ self.text_projection

    def with_ends(self, tokens: Int64[Tensor, "captions max_words"]) -> Int64[Tensor, "captions max_words_and_ends"]:
        """Rows of the embedding matrix: start, words, end, and padding, which no token up to the end attends to."""
        rows, known = len(tokens), tokens != 0
        words = torch.where(known, tokens - 1, 0)
        start, end = self.num_words, self.num_words + 1
        framed = torch.cat([words.new_full((rows, 1), start), words, words.new_zeros((rows, 1))], dim=1)
        return framed.scatter(1, known.sum(dim=1, keepdim=True) + 1, end)

    def layers_by_depth(self) -> list[list[nn.Parameter]]:
        """The parameters by depth: embeddings (0), transformer layers, projections; of images and text together."""
        deepest = max(self.config.vision.layers, self.config.text.layers)
        found: list[list[nn.Parameter]] = [[] for _ in range(deepest + 2)]
        for name, parameter in self.named_parameters():
            found[self._layer(name, deepest)].append(parameter)
        return found

    def _layer(self, name: str, deepest: int) -> int:
        _, inside, rest = name.partition("transformer.resblocks.")
        if inside:
            return int(rest.split(".")[0]) + 1
        return deepest + 1 if name.rpartition(".")[0] in _LAST or name in _LAST else 0


_LAST = ("visual.ln_post", "visual.proj", "ln_final", "text_projection")
