"""A small batch of whole videos with a caption each, and a small dual encoder for it."""

import torch

from vtr_core.config.override import ModelInputs
from vtr_core.config.towers import TemporalLevelsConfig
from vtr_core.data.batches import FrameBatch
from vtr_core.systems.dual.config import HybridEncoderConfig

ROWS, FRAMES, DIM, WORDS = 6, 5, 10, 9
_LEVELS = TemporalLevelsConfig(hidden_dim=4, num_filters=3, kernel_sizes=(2, 3))
SMALL = HybridEncoderConfig(
    inputs=ModelInputs(features={"video": DIM, "audio": 7}, num_words=WORDS, word_dim=4, max_words=5),
    latent_dim=8,
    num_concepts=7,
    video=_LEVELS,
    text=_LEVELS,
)


def videos(no_video: tuple[int, ...] = (), no_text: tuple[int, ...] = (), rows: int = ROWS) -> FrameBatch:
    """`rows` videos of 1 to 5 frames with fixed random contents; each video stands in two neighbouring rows."""
    generator = torch.Generator().manual_seed(1)
    counts = torch.tensor([0 if row in no_video else row % FRAMES + 1 for row in range(rows)])
    mask = torch.arange(FRAMES) < counts.unsqueeze(1)
    frames = torch.randn(rows, FRAMES, DIM, generator=generator) * mask.unsqueeze(2)
    tokens = torch.randint(1, WORDS + 1, (rows, 5), generator=generator)
    tokens[torch.arange(5) > torch.arange(rows).unsqueeze(1) % 5] = 0
    tokens[list(no_text)] = 0
    return FrameBatch(
        frames={"video": frames.half()},
        mask={"video": mask},
        mean={"video": frames.half().float().sum(dim=1) / counts.clamp(min=1).unsqueeze(1)},
        present={"video": counts > 0},
        tokens=tokens,
        clip_key=torch.arange(rows) // 2,
        video_key=torch.arange(rows) // 2,
        caption_key=torch.arange(rows),
    )
