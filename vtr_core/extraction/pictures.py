"""Pictures of a video: frames in a folder, thumbnails."""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from jaxtyping import Float, Shaped, UInt8
from PIL import Image, ImageOps

from vtr_core import storage
from vtr_core.backbones.recipes import Extractor, Recipe
from vtr_core.config.override import PositiveInt
from vtr_core.data.reading.stored_rows import taken_frames
from vtr_core.data.records.schema import CAPTION_VECTORS, FeatureSpec
from vtr_core.data.sources.annotated_videos import Features, ListedVideo
from vtr_core.data.sources.clip_tokens import CaptionListing, zero_vectors
from vtr_core.data.sources.faces import by_number
from vtr_core.data.sources.features.feature_arrays import to_float16
from vtr_core.data.sources.files import read_file
from vtr_core.errors import ConfigError
from vtr_core.extraction.features import Chosen
from vtr_core.storage import Location, locate
from vtr_core.unusable import Reason, UnusableError
from vtr_core.video.streams import Picture, PictureStream, Rate, WholePicture

if TYPE_CHECKING:
    from vtr_core.encoders.encoder import Encoder


_SUFFIXES = (".jpg", ".jpeg", ".png")
_MOST_PIXELS, _MOST_PICTURE = 2**26, 2**28
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
    """An image's pixels, RGB, upright as its camera says (EXIF). Raises UnusableError, naming the file, for one that
    cannot be read.
    """
    content = read_file(file, _MOST_PICTURE)
    try:
        with Image.open(io.BytesIO(content), formats=("JPEG", "PNG")) as image:
            if image.width * image.height > _MOST_PIXELS:
                raise ValueError(f"it has {image.width} × {image.height} pixels, more than {_MOST_PIXELS}")
            return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    except Exception as error:  # whatever the decoders meet in a damaged file
        raise UnusableError(Reason.UNREADABLE_FILE, f"{file} is no JPEG or PNG that can be read ({error})") from error


THUMBNAILS_PER_SECOND = 2.0
"""Rate of candidate pictures; a span's thumbnail is the one nearest to its middle."""
THUMBNAIL_QUALITY = 80
LARGEST_SIDE = 4096


@dataclass(frozen=True)
class FrameSettings:
    """Settings of a clip's stored frames: square centre crops at a rate."""

    size: int = 224
    per_second: float = 1.0
    most: int | None = None
    """Greatest number of frames of a clip, in equal steps from the first to the last; None keeps all."""
    quality: int = 90

    def __post_init__(self) -> None:
        check_side("--frame-size", self.size)
        if not 0 < self.per_second <= 1000:
            raise ConfigError(f"--frame-rate is {self.per_second:g}; it must be above 0, and 1000 a second at most")
        if self.most is not None and self.most < 1:
            raise ConfigError(f"--frames is {self.most}; it must be 1 or more")
        if not 1 <= self.quality <= 100:
            raise ConfigError(f"--frame-quality is {self.quality}; it must be from 1 to 100")

    @property
    def chosen(self) -> Chosen:
        """The recipe that decodes and encodes these frames."""
        stream = PictureStream(Picture(self.size, self.size), Rate(self.per_second))
        return _stored("frames", stream, self.per_second, self.quality)


def thumbnails(long_side: int) -> Chosen:
    """The recipe of thumbnails, small whole frames as JPEGs; ConfigError for an invalid size."""
    check_side("--thumbnail-size", long_side)
    stream = PictureStream(WholePicture(long_side), Rate(THUMBNAILS_PER_SECOND))
    return _stored("thumbnails", stream, THUMBNAILS_PER_SECOND, THUMBNAIL_QUALITY)


def times(count: int, per_second: float) -> Float[np.ndarray, " rows"]:
    """Times of pictures sampled at a rate, in seconds: the middle of each interval."""
    return (np.arange(count) + 0.5) / per_second


def check_side(flag: str, pixels: int) -> None:
    """ConfigError for pictures too small or too large."""
    if not 8 <= pixels <= LARGEST_SIDE:
        raise ConfigError(f"{flag} is {pixels}; it must be from 8 to {LARGEST_SIDE} pixels")


def jpegs(pictures: UInt8[np.ndarray, "rows height width 3"], quality: int) -> Shaped[np.ndarray, " rows"]:
    """The pictures as JPEG files, an object array of bytes."""
    files = np.empty(len(pictures), object)
    for place, pixels in enumerate(pictures):
        content = io.BytesIO()
        Image.fromarray(pixels).save(content, "JPEG", quality=quality)
        files[place] = content.getvalue()
    return files


def _stored(name: str, stream: PictureStream, per_second: float, quality: int) -> Chosen:
    """The recipe that stores a stream's pictures as JPEGs."""
    recipe = Recipe(
        name=name,
        modality="video",
        network="none",
        follows="",
        stream=stream,
        dim=0,
        rows_per_second=per_second,
        weights=None,
        load=partial(_load, quality),
    )
    return Chosen(recipe, None, None)


def _load(quality: int, _weights: str | None, _device: str) -> Extractor:
    return partial(jpegs, quality=quality)
