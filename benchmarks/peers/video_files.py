"""What the published loaders do: from a video's .npy file slice each clip, max-pool over time, normalise.

An item is a video with `clips_per_video` of its clips, as in the published training code; the default collation stacks
items. Kinder than most of that code: captions are tokenised already and kept in memory, and pooled features travel from
the workers as float16.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from benchmarks.peers.records import Batch

FEATURES = ("video", "audio")


class VideoFiles(Dataset[Batch]):
    """The videos of a folder of `<id>.<feature>.npy` with one feature a second."""

    def __init__(self, folder: Path, clips_per_video: int) -> None:
        self._folder, self._wanted = folder, clips_per_video
        clips = np.load(folder / "clips.npy")
        self._videos = np.split(clips, np.flatnonzero(np.diff(clips["video"])) + 1)

    def __len__(self) -> int:
        return len(self._videos)

    def __getitem__(self, index: int) -> Batch:
        """Clips of video `index`: features (clips, dim), tokens (clips, words), keys (clips,)."""
        clips = self._videos[index]
        replace = len(clips) < self._wanted
        clips = clips[np.random.choice(len(clips), self._wanted, replace)]
        name = f"v{int(clips['video'][0]):06d}"
        item: Batch = {"tokens": torch.from_numpy(clips["tokens"].astype(np.int64))}
        for key in ("clip_key", "video_key"):
            item[key] = torch.from_numpy(clips[key].copy())
        for feature in FEATURES:
            seconds = torch.from_numpy(np.load(self._folder / f"{name}.{feature}.npy")).float()
            item[feature] = torch.stack([_pooled(seconds[clip["start"] : clip["end"]]) for clip in clips])
            item[f"has_{feature}"] = torch.ones(len(clips), dtype=torch.bool)
        return item


def _pooled(seconds: torch.Tensor) -> torch.Tensor:
    """(seconds, dim) float32 to (dim,) float16."""
    return F.normalize(seconds.max(dim=0).values, dim=0).half()


def batches(folder: Path, clips_per_video: int, rows: int, workers: int, epochs: int | None = None) -> Iterator[Batch]:
    """Batches of shuffled videos, of `epochs` passes, without end by default."""
    loader = DataLoader(
        VideoFiles(folder, clips_per_video),
        batch_size=rows // clips_per_video,
        shuffle=True,
        num_workers=workers,
        persistent_workers=workers > 0,
    )
    done = 0
    while epochs is None or done < epochs:
        for batch in loader:
            yield {name: values.flatten(0, 1) for name, values in batch.items()}
        done += 1
