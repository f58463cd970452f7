"""Features as `.npy` files, one per video and recipe: <folder>/<recipe>/<video>.npy, float16 (rows, dim)."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vtr_core import storage
from vtr_core.data.sources.names import check_path
from vtr_core.data.sources.reasons import Reason, UnusableError
from vtr_core.data.sources.source import Drops
from vtr_core.data.sources.videos.inventory import VideoFile
from vtr_core.errors import RunConflict
from vtr_core.extraction.chosen import Chosen
from vtr_core.extraction.features import Unusable, VideoFeatures
from vtr_core.extraction.shards import Extract
from vtr_core.storage import Location

RECORD = "extraction.json"
"""The record of a folder: the recipes with their fingerprints; once `complete`, also the dropped videos."""


@dataclass(frozen=True)
class NpyFolder:
    """A folder of feature files of one set of recipes."""

    location: Location
    chosen: tuple[Chosen, ...]

    def claim(self) -> None:
        """Write the folder's record; RunConflict where it exists with other recipes or weights."""
        place, said = self.location / RECORD, {"recipes": [one.settings() for one in self.chosen]}
        if not storage.exists(place):
            storage.write_json(place, said)
        elif [one["fingerprint"] for one in storage.read_json(place)["recipes"]] != [
            one.settings()["fingerprint"] for one in self.chosen
        ]:
            raise RunConflict(f"{self.location} holds features of other recipes or weights; choose another folder")

    def holds(self, video: VideoFile) -> bool:
        """Whether the video's features are complete: whether the file that is written last exists."""
        return storage.exists(self._file(self._last(), video.video_id))

    def write(self, video_id: str, found: VideoFeatures) -> None:
        """Write the files of a video, each atomically."""
        last = self._last()
        for position in sorted(found.by_recipe, key=lambda position: position == last):
            content = io.BytesIO()
            np.save(content, found.by_recipe[position], allow_pickle=False)
            storage.write_bytes(self._file(position, video_id), content.getvalue())

    def finish(self, drops: Drops) -> None:
        """Add the dropped videos to the record."""
        said = {"recipes": [one.settings() for one in self.chosen], "complete": True, "dropped": dict(drops.counts)}
        storage.write_json(self.location / RECORD, said)

    def _last(self) -> int:
        """A recipe whose features every video has: one of pictures, if there is one."""
        return max(range(len(self.chosen)), key=lambda i: (self.chosen[i].recipe.modality == "video", i))

    def _file(self, position: int, video_id: str) -> Location:
        return self.location / self.chosen[position].recipe.folder / f"{video_id}.npy"


def write_features(folder: NpyFolder, files: Sequence[VideoFile], extract: Extract, drops: Drops) -> Iterator[int]:
    """Extract the videos without features; yields after each how many of `files` are done, left out or dropped."""
    folder.claim()
    usable = list(_distinct(files, drops))
    left = [file for file in usable if not folder.holds(file)]
    for done, (position, found) in enumerate(extract([file.uri for file in left]), len(files) - len(left) + 1):
        if isinstance(found, Unusable):
            drops.drop(found.reason, found.what)
        else:
            folder.write(left[position].video_id, found)
        yield done
    folder.finish(drops)


def _distinct(files: Sequence[VideoFile], drops: Drops) -> Iterator[VideoFile]:
    """The videos whose ids are valid paths below a folder, without repeated ids."""
    seen: set[str] = set()
    for file in files:
        try:
            check_path(file.video_id.lstrip("/"))
            if file.video_id in seen:
                raise UnusableError(Reason.DUPLICATE_ID, f"{file.uri}: another video has the id {file.video_id}")
        except UnusableError as fault:
            drops.drop(fault.reason, str(fault))
        else:
            seen.add(file.video_id)
            yield file
