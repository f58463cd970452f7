"""Frames and captions by a model of open_clip: every token through the last LayerNorm and the projection."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float32
from torch import Tensor, nn

from vtr_core.errors import ConfigError

Tokenizer = Callable[[list[str]], Tensor]


@dataclass(frozen=True)
class Colours:
    """Mean and standard deviation of the RGB channels in the model's preprocessing."""

    mean: tuple[float, float, float]
    std: tuple[float, float, float]


OPENAI = Colours((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711))
"""The normalisation of Radford et al. 2021, which open_clip's CLIP models share."""


class OpenClipBackbone:
    """`tokens` = LN_post(x) W_proj for the [CLS] token and all patches x of the vision transformer's last layer.

    CLIP itself projects [CLS] alone; patches in the same space are what token-wise retrieval reads (Luo et al. 2021,
    Tang et al. 2025). The model is `open_clip.CLIP` with a vision transformer, or has its `visual` and `encode_text`.
    Raises ConfigError for one whose patches have no such projection.
    """

    def __init__(
        self, model: nn.Module, tokenizer: Tokenizer, colours: Colours = OPENAI, device: torch.device | str = "cpu"
    ) -> None:
        self._model: Any = model.to(device).float().eval()
        self._tokenizer, self._device = tokenizer, torch.device(device)
        visual: Any = self._model.visual
        _check(visual)
        visual.output_tokens = True
        self._visual, self.dim = visual, int(visual.proj.shape[1])
        self._mean, self._std = (
            torch.tensor(values).view(3, 1, 1).to(device) for values in (colours.mean, colours.std)
        )
        self.image_size, self.grid = int(visual.image_size[0]), int(visual.grid_size[0])

    @torch.inference_mode()
    def tokens(self, images: Float32[np.ndarray, "frames 3 height width"]) -> Float32[np.ndarray, "frames tokens dim"]:
        """See `ClipBackbone`."""
        pixels = (torch.from_numpy(images).to(self._device) - self._mean) / self._std
        cls, patches = self._visual(pixels)
        return _array(torch.cat([cls.unsqueeze(1), patches @ self._visual.proj], dim=1))

    @torch.inference_mode()
    def captions(self, captions: Sequence[str]) -> Float32[np.ndarray, "captions dim"]:
        """See `ClipBackbone`; a caption is cut where the model's context ends."""
        return _array(self._model.encode_text(self._tokenizer(list(captions)).to(self._device)))


def _check(visual: Any) -> None:
    """ConfigError unless the patches that `visual` gives beside [CLS] have passed its last LayerNorm."""
    names = ("output_tokens", "proj", "image_size", "grid_size")
    lacking = [name for name in names if not hasattr(visual, name)]
    if lacking or visual.proj is None:
        raise ConfigError(
            f"{type(visual).__name__} is no vision transformer with a projection ({', '.join(lacking) or 'proj'}); "
            "choose a backbone such as ViT-B-32, ViT-B-16 or ViT-L-14"
        )
    pooling = getattr(visual, "pool_type", "tok")
    if (
        pooling != "tok"
        or getattr(visual, "attn_pool", None) is not None
        or getattr(visual, "final_ln_after_pool", False)
    ):
        raise ConfigError(
            f"the backbone pools its patches ({pooling}), which are therefore not in the space of its captions; choose "
            "one with a [CLS] token such as ViT-B-32, ViT-B-16 or ViT-L-14"
        )
    for name in ("image_size", "grid_size"):
        height, width = getattr(visual, name)
        if height != width:
            raise ConfigError(f"the backbone's {name} is {height} × {width}; choose one of square images")


def _array(values: Float[Tensor, "*shape"]) -> Float32[np.ndarray, "*shape"]:
    return values.float().cpu().numpy()
