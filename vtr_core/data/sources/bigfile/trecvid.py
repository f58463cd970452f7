"""TRECVID's ad-hoc video search: shots to be searched (IACC.3, V3C1), and the captioned videos of TV2016TRAIN."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from vtr_core.data.sources.bigfile.collection import BigFileVideos
from vtr_core.data.sources.source import Drops
from vtr_core.errors import InputError


class Trecvid(BigFileVideos):
    """Shots by their ids (shot35345_1), as topics' judgements call them; TV2016TRAIN has two captions a video.

    vtr index and vtr search --topics … --judgements … give the infAP of a collection.
    """

    name: ClassVar[str] = "trecvid"

    collection: Literal["iacc.3", "v3c1", "tv2016train"] = "iacc.3"
    """iacc.3, v3c1: shots without captions. tv2016train: videos with captions, to choose checkpoints by."""

    def _captions(self, drops: Drops) -> Mapping[str, tuple[str, ...]]:
        if (self.collection == "tv2016train") != (self.captions_file is not None):
            has = "has" if self.captions_file is None else "has no"
            raise InputError(
                f"vtr ingest trecvid: {self.collection} {has} captions; "
                f"{'give' if self.captions_file is None else 'leave out'} --captions-file"
            )
        return super()._captions(drops)
