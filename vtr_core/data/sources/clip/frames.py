"""CLIP's tokens computed from the frames of videos, and vectors from their captions."""

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float16

from vtr_core import storage
from vtr_core.config.settings import PositiveInt
from vtr_core.data.records.schema import CAPTION_VECTORS, FeatureSpec
from vtr_core.data.sources.clip.backbone import ClipBackbone
from vtr_core.data.sources.clip.caption_listing import CaptionListing, ListedVideo, zero_vectors
from vtr_core.data.sources.clip.file import num_tokens
from vtr_core.data.sources.clip.video_images import image_names, read_images, sample
from vtr_core.data.sources.features.pooling import to_float16
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.data.sources.source import Drops
from vtr_core.storage import Location, locate


class ClipFrames(CaptionListing):
    """Every video is one row: `video`, of each sampled frame the projected [CLS] token and patches; `text`, of each
    caption the projected [EOT] vector.

    Both are stored in float16 and not normalised. A video with an image that cannot be read is dropped and counted.
    """

    name: ClassVar[str] = "clip_frames"

    frame_folder: str
    """Folder of a folder of JPEG or PNG frames for each video, <video id>/; numbers in their names give the order."""
    backbone: str = "ViT-B-32"
    """open_clip's name of a model with a [CLS] token. Files of OpenAI's weights want the -quickgelu one."""
    weights: str = "openai"
    """Weights that open_clip knows by name, from the caches of this machine; or a .safetensors file, or a .pt of
    tensors alone. Nothing is downloaded."""
    frames: PositiveInt = 12
    """Frames of a video, in equal steps from the first to the last; of a shorter one all."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Device of the tasks; for cuda see --gpus-per-shard."""

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video` and `text`, with the sizes of the backbone."""
        grid, dim = self._sizes
        return FeatureSpec("video", num_tokens(grid) * dim), FeatureSpec(CAPTION_VECTORS, dim)

    def _features(self, video_id: str, listed: ListedVideo) -> dict[str, Float16[np.ndarray, "_ _"]]:
        if listed.file is None:
            raise self._missing(video_id)
        folder = self._location / listed.file
        names = sample(image_names(folder), self.frames)
        if not names:
            raise UnusableError(Reason.NO_FRAMES, f"{folder} holds no JPEG or PNG")
        tokens = self._loaded.tokens(read_images(folder, names, self._loaded.image_size))
        vectors = self._loaded.captions(listed.captions)
        return {
            "video": to_float16(tokens.reshape(len(tokens), -1), f"the tokens of {folder}"),
            CAPTION_VECTORS: to_float16(vectors, f"the captions of {video_id}"),
        }

    def _absent(self, listed: ListedVideo) -> dict[str, Float16[np.ndarray, "_ _"]]:
        return {CAPTION_VECTORS: zero_vectors(listed, self._sizes[1])}

    def _files(self, drops: Drops) -> Mapping[str, str]:  # noqa: ARG002  (a folder has a name once)
        names = (child.name for child in storage.children(self._location))
        return {name: name for name in names}

    def _missing(self, video_id: str) -> UnusableError:
        return UnusableError(Reason.MISSING_FILE, f"there is no folder {self._location / video_id}")

    @property
    def _location(self) -> Location:
        return locate(self.frame_folder)

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        """The backbone's grid and dimension; the model is not kept, since the source is pickled to the tasks."""
        found = self._load()
        return found.grid, found.dim

    @cached_property
    def _loaded(self) -> ClipBackbone:
        return self._load()

    def _load(self) -> ClipBackbone:
        from vtr_core.data.sources.clip.open_clip_loading import load_backbone  # torch, which help must not import

        return load_backbone(self.backbone, self.weights, self.device)
