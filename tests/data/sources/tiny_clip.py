"""A random pair of encoders with the interface of open_clip's, small enough to follow by hand."""

import torch
from torch import Tensor, nn

DIM, WIDTH, SIZE, PATCH = 6, 8, 12, 4
GRID = SIZE // PATCH


class TinyVisual(nn.Module):
    """A vision transformer of one layer; as open_clip's, its patches come before the projection."""

    def __init__(self) -> None:
        super().__init__()
        self.image_size, self.grid_size, self.output_tokens = (SIZE, SIZE), (GRID, GRID), False
        self.conv1 = nn.Conv2d(3, WIDTH, PATCH, PATCH, bias=False)
        self.class_embedding = nn.Parameter(torch.randn(WIDTH))
        self.positional_embedding = nn.Parameter(torch.randn(1 + GRID**2, WIDTH))
        self.transformer = nn.TransformerEncoderLayer(WIDTH, 2, 2 * WIDTH, dropout=0.1, batch_first=True)
        self.ln_post = nn.LayerNorm(WIDTH)
        self.proj = nn.Parameter(torch.randn(WIDTH, DIM))

    def hidden(self, images: Tensor) -> Tensor:
        patches = self.conv1(images).flatten(2).transpose(1, 2)
        cls = self.class_embedding.expand(len(images), 1, WIDTH)
        return self.transformer(torch.cat([cls, patches], dim=1) + self.positional_embedding)

    def forward(self, images: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        normed = self.ln_post(self.hidden(images))
        pooled = normed[:, 0] @ self.proj
        return (pooled, normed[:, 1:]) if self.output_tokens else pooled


class TinyClip(nn.Module):
    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.visual = TinyVisual()
        self.words = nn.Embedding(50, DIM)

    def encode_text(self, tokens: Tensor) -> Tensor:
        return self.words(tokens).sum(dim=1)


def tiny_tokenizer(captions: list[str]) -> Tensor:
    """The lengths of a caption's first two words."""
    return torch.tensor([[len(word) for word in [*caption.split(), "", ""][:2]] for caption in captions])
