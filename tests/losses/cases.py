"""One batch with everything that makes losses hard, and one or two configurations of every loss."""

import torch

from vtr_core.config.losses import (
    AdaptiveMargin,
    ConstantMargin,
    GeometricMargin,
    InfoNceConfig,
    LinearMargin,
    MaskedMarginSoftmaxConfig,
    MaskSameVideo,
    MaxMarginRankingConfig,
    MilNceConfig,
    SigmoidConfig,
    WeightSameVideo,
)
from vtr_core.data.batches import RowKeys
from vtr_core.nn.embeddings import Embeddings
from vtr_core.run.config import LossConfig

STEP = 700
ROWS, DIM = 11, 4
WEIGHT = WeightSameVideo(hard_rate=0.3)
CASES: dict[str, LossConfig] = {
    "mms_constant": MaskedMarginSoftmaxConfig(margin=ConstantMargin(value=0.1)),
    "mms_geometric_mask": MaskedMarginSoftmaxConfig(
        margin=GeometricMargin(initial=0.1, factor=1.5, every=100), same_video=MaskSameVideo()
    ),
    "mms_linear_weight": MaskedMarginSoftmaxConfig(margin=LinearMargin(final=0.3, steps=1000), same_video=WEIGHT),
    "mms_adaptive": MaskedMarginSoftmaxConfig(margin=AdaptiveMargin(scale=0.5)),
    "info_nce": InfoNceConfig(temperature=0.2),
    "info_nce_learnable_weight": InfoNceConfig(temperature=0.2, learnable_temperature=True, same_video=WEIGHT),
    "info_nce_same_caption": InfoNceConfig(temperature=0.2, positives="same_caption"),
    "info_nce_same_caption_weight": InfoNceConfig(temperature=0.2, positives="same_caption", same_video=WEIGHT),
    "mil_nce": MilNceConfig(),
    "mil_nce_weight": MilNceConfig(same_video=WEIGHT),
    "max_margin_mask": MaxMarginRankingConfig(margin=0.2, same_video=MaskSameVideo()),
    "max_margin_weight": MaxMarginRankingConfig(margin=0.2, same_video=WEIGHT),
    "sigmoid_mask": SigmoidConfig(scale=5.0, bias=-3.0, same_video=MaskSameVideo()),
    "sigmoid_weight": SigmoidConfig(scale=5.0, bias=-3.0, same_video=WEIGHT),
}
MARGINS = {"mms_constant": 0.1, "mms_geometric_mask": 0.1 * 1.5**7, "mms_linear_weight": 0.3 * 0.7}
"""The margin of the step, where it is one number."""


def keys(rows: int = ROWS) -> RowKeys:
    """Three clips a video; one clip stands in the batch twice, and two clips of different videos share a caption."""
    clip, caption = torch.arange(rows), torch.arange(rows)
    clip[1], caption[rows - 1] = 0, 2
    return RowKeys(clip=clip, video=torch.arange(rows) // 3, caption=caption)


def batch(
    *names: str, rows: int = ROWS, dim: int = DIM, extra: int = 2, seed: int = 0, **missing: tuple[int, ...]
) -> Embeddings:
    """Random float64 embeddings that want gradients; `missing` names the rows that lack a modality."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()

    names = names or ("audio", "text", "video")
    return Embeddings(
        vectors={name: draw(rows, dim) for name in names},
        present={name: torch.tensor([row not in missing.get(name, ()) for row in range(rows)]) for name in names},
        candidates=draw(rows, extra, dim) if extra else None,
    )


INCOMPLETE: dict[str, tuple[int, ...]] = {"audio": (1, 4, 9), "text": (0,), "video": (3, 8)}
"""Rows that lack a modality; three rows have text and video alone, two text and audio alone."""


def leaves(embeddings: Embeddings) -> list[torch.Tensor]:
    """The tensors that want gradients."""
    candidates = [] if embeddings.candidates is None else [embeddings.candidates]
    return [*embeddings.vectors.values(), *candidates]
