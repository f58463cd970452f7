"""Thumbnails of clips and of whole videos."""

import base64
from dataclasses import dataclass


@dataclass(frozen=True)
class Thumbnail:
    """A JPEG file, and the span in seconds from whose middle it is taken."""

    item_id: str
    """The clip's id; for whole videos the video's id."""
    start: float
    end: float
    jpeg: bytes

    @property
    def href(self) -> str:
        """The thumbnail as a data URI."""
        return f"data:image/jpeg;base64,{base64.b64encode(self.jpeg).decode()}"
