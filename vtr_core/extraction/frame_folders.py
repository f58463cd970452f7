"""`vtr ingest clip_frames`: folders of frames as tokens of a pretrained encoder, and their captions as its vectors."""

import io
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from jaxtyping import UInt8

from vtr_core import storage
from vtr_core.config.settings import PositiveInt
from vtr_core.data.reading.stored_rows import taken_frames
from vtr_core.data.records.schema import CAPTION_VECTORS, FeatureSpec
from vtr_core.data.sources.annotated_videos import Features, ListedVideo
from vtr_core.data.sources.clip_tokens import CaptionListing, zero_vectors
from vtr_core.data.sources.faces import by_number
from vtr_core.data.sources.features.feature_arrays import to_float16
from vtr_core.data.sources.files import read_file
from vtr_core.storage import Location, locate
from vtr_core.unusable import Reason, UnusableError

if TYPE_CHECKING:
    from vtr_core.encoders.encoder import Encoder

_SUFFIXES = (".jpg", ".jpeg", ".png")
_MOST_PIXELS = 2**26
"""Maximum size of an image: a few compressed bytes can expand to any number of pixels."""


class FrameFolders(CaptionListing):
    """Every video is one row: `video`, of each sampled frame the [CLS] token and the patches in the encoder's space;
    `text`, of each caption its unit vector.

    Both are stored in float16. A video with an image that cannot be read is dropped and counted.
    """

    name: ClassVar[str] = "clip_frames"

    frame_folder: str
    """Folder of a folder of JPEG or PNG frames for each video, <video id>/; numbers in their names give the order."""
    encoder: str = "hf:openai/clip-vit-base-patch32"
    """Encoder with a [CLS] token, hf: or open-clip:; vtr encoders lists what there is."""
    frames: PositiveInt = 12
    """Frames of a video, in equal steps from the first to the last; of a shorter one all."""
    device: Literal["cpu", "cuda"] = "cpu"
    """Device of the tasks; for cuda see --gpus-per-shard."""

    def features(self) -> tuple[FeatureSpec, ...]:
        """`video` and `text`, with the sizes of the encoder."""
        values, dim = self._sizes
        return FeatureSpec("video", values), FeatureSpec(CAPTION_VECTORS, dim)

    def _features(self, video_id: str, listed: ListedVideo) -> Features:
        if listed.file is None:
            raise self._missing(video_id)
        folder = self._location / listed.file
        names = image_names(folder)
        names = [names[place] for place in taken_frames(len(names), self.frames)]  # as CLIP4Clip samples
        if not names:
            raise UnusableError(Reason.NO_FRAMES, f"{folder} holds no JPEG or PNG")
        pictures = [self._loaded.prepare(read_image(folder / name)[None]) for name in names]
        tokens = np.concatenate([self._loaded.encode_patches(shown) for shown in pictures])
        return {
            "video": to_float16(tokens.reshape(len(tokens), -1), f"the tokens of {folder}"),
            CAPTION_VECTORS: to_float16(self._loaded.encode_text(listed.captions), f"the captions of {video_id}"),
        }

    def _absent(self, listed: ListedVideo) -> Features:
        return {CAPTION_VECTORS: zero_vectors(listed, self._sizes[1])}

    def _files(self) -> Mapping[str, str]:
        names = (child.name for child in storage.children(self._location))
        return {name: name for name in names}

    def _missing(self, video_id: str) -> UnusableError:
        return UnusableError(Reason.MISSING_FILE, f"there is no folder {self._location / video_id}")

    @property
    def _location(self) -> Location:
        return locate(self.frame_folder)

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        """Values of a frame's tokens, and of a caption's vector; the model is not kept, as tasks get a copy of this."""
        from vtr_core.encoders.encoder import TOKENS, encoder, frames_recipe

        return frames_recipe(TOKENS + self.encoder).dim, encoder(self.encoder).dim

    @property
    def _loaded(self) -> "Encoder":
        from vtr_core.encoders.encoder import encoder

        return encoder(self.encoder, self.device)


def image_names(folder: Location) -> list[str]:
    """The JPEG and PNG files of a folder, numbers in their names counted as numbers: frame2 comes before frame10."""
    names = (file.name for file in storage.children(folder))
    return sorted((name for name in names if name.lower().endswith(_SUFFIXES)), key=by_number)


def read_image(file: Location) -> UInt8[np.ndarray, "height width 3"]:
    """An image's pixels, RGB. Raises UnusableError, naming the file, for one that cannot be read."""
    from PIL import Image

    content = read_file(file)
    try:
        with Image.open(io.BytesIO(content), formats=("JPEG", "PNG")) as image:
            if image.width * image.height > _MOST_PIXELS:
                raise ValueError(f"it has {image.width} × {image.height} pixels, more than {_MOST_PIXELS}")
            return np.asarray(image.convert("RGB"))
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        raise UnusableError(Reason.UNREADABLE_FILE, f"{file} is no JPEG or PNG that can be read ({error})") from error
