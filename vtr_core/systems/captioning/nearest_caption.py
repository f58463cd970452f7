"""The nearest-neighbour baseline of captioning: the caption of the most similar training video."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float32

from vtr_core.data.captions.information import information_table
from vtr_core.data.captions.video_captions import VideoCaptions, video_captions
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import row_groups
from vtr_core.data.reading.frames import video_rows
from vtr_core.data.shards.writing import caption_key
from vtr_core.errors import DatasetError
from vtr_core.systems.descriptions import CaptionedVideos


def nearest_captions(training: Manifest, manifest: Manifest, feature: str) -> CaptionedVideos:
    """The most typical caption of the nearest training video, for every video of `manifest`.

    Videos are compared by the cosine of their mean frames, each dimension standardised over the training videos; ties:
    the first. A caption's typicality is its CIDEr against the video's other captions.
    """
    typical = typical_captions([video for video in video_captions(training) if video.captions])
    known, known_ids, _ = _means(training, feature)
    kept = [place for place, name in enumerate(known_ids) if name in typical]
    if not kept:
        raise DatasetError(f"{training.uri} has no video with captions, so the baseline has no caption to give")
    known, known_ids = known[kept], [known_ids[place] for place in kept]
    asked, ids, references = _means(manifest, feature)
    mean, spread = known.mean(axis=0), known.std(axis=0) + 1e-6
    nearest = (_unit((asked - mean) / spread) @ _unit((known - mean) / spread).T).argmax(axis=1)
    hypotheses = {name: typical[known_ids[place]] for name, place in zip(ids, nearest.tolist(), strict=True)}
    return CaptionedVideos(hypotheses, references, dict.fromkeys(ids, True))


def typical_captions(videos: list[VideoCaptions]) -> Mapping[str, str]:
    """By video id, the caption with the highest CIDEr against the video's other captions; ties: the first."""
    table = information_table(videos, "leave_one_out")
    found = {}
    for video in videos:
        keys = np.array([caption_key(caption) for caption in video.captions], np.int64)
        values = table.of_captions(np.full(len(keys), video.video_key), keys)
        found[video.video_id] = video.captions[int(values.argmax())]
    return found


def _means(
    manifest: Manifest, feature: str
) -> tuple[Float32[np.ndarray, "videos dim"], list[str], dict[str, tuple[str, ...]]]:
    """The mean frame of every video, their ids, and their captions."""
    means, ids, references = [], list[str](), dict[str, tuple[str, ...]]()
    for videos in video_rows(manifest, row_groups(manifest), max_frames=1, features=[feature]):
        means.append(videos.mean[feature].numpy())
        ids.extend(videos.video_id)
        for place, name in enumerate(videos.video_id):
            own = (videos.caption_video == place).nonzero()[0].tolist()
            references[name] = tuple(videos.captions[i] for i in own)
    return np.concatenate(means), ids, references


def _unit(rows: Float32[np.ndarray, "rows dim"]) -> Float32[np.ndarray, "rows dim"]:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
