"""`--videos`: the video files that key frames of pages are cut from."""

from typing import TYPE_CHECKING

from vtr_core.errors import ConfigError

if TYPE_CHECKING:
    from vtr_core.data.manifest import Manifest
    from vtr_core.data.sources.videos.inventory import Inventory


def video_files(place: str | None, manifest: "Manifest") -> "Inventory | None":
    """The files that `place` gives, None for none.

    InputError where it gives no video, ConfigError for a data set of whole videos, which have no times to cut at.
    """
    from vtr_core.data.records.schema import VideoSchema
    from vtr_core.data.sources.videos.inventory import Inventory

    if place is None:
        return None
    if isinstance(manifest.schema, VideoSchema):
        raise ConfigError(
            f"vtr explain --videos cuts key frames of clips, and {manifest.uri} has whole videos; give --keyframes, a "
            "folder of pictures"
        )
    found = Inventory(place)
    assert found.files  # an empty one has raised InputError
    return found
