"""A small batch of clips for the models' tests."""

import torch

from vtr_core.config.override import ModelInputs
from vtr_core.data.batches import ClipBatch

ROWS = 6
INPUTS = ModelInputs(features={"video": 10, "audio": 7}, num_words=9, word_dim=4, max_words=5)


def clips(no_audio=(), no_text=(), rows=ROWS, extra=None) -> ClipBatch:
    """`rows` clips with fixed random contents; `extra`: candidate captions of each, none where there is no text."""
    generator = torch.Generator().manual_seed(1)
    tokens = torch.randint(1, 10, (rows, 5), generator=generator)
    tokens[list(no_text)] = 0
    features = {
        "video": torch.randn(rows, 10, generator=generator).half(),
        "audio": torch.randn(rows, 7, generator=generator).half(),
    }
    candidates = None
    if extra is not None:
        candidates = torch.randint(1, 10, (rows, extra, 5), generator=generator)
        candidates[..., 3:] = 0
        candidates[list(no_text)] = 0
    return ClipBatch(
        features=features,
        present={
            "video": torch.ones(rows, dtype=torch.bool),
            "audio": torch.tensor([row not in no_audio for row in range(rows)], dtype=torch.bool),
        },
        tokens=tokens,
        clip_key=torch.arange(rows),
        video_key=torch.arange(rows) // 2,
        caption_key=torch.arange(rows),
        candidate_tokens=candidates,
    )
