"""A small picture of a clip, or of a whole video."""

import base64
from dataclasses import dataclass


@dataclass(frozen=True)
class Thumbnail:
    """A JPEG file, and the span that it is from the middle of, in seconds."""

    item_id: str
    """The clip's id, of whole videos the video's."""
    start: float
    end: float
    jpeg: bytes

    @property
    def href(self) -> str:
        """The picture as a data URI."""
        return f"data:image/jpeg;base64,{base64.b64encode(self.jpeg).decode()}"
