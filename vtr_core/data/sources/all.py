"""The sources of `vtr ingest` by name, but for those that encode."""

from collections.abc import Mapping
from types import MappingProxyType

from vtr_core.data.sources.annotated_videos import (
    ActivityNet,
    ActivityNetVideos,
    DiDeMo,
    DiDeMoVideos,
    Msrvtt,
    MsrvttVideos,
    Msvd,
    MsvdVideos,
)
from vtr_core.data.sources.bigfile import BigFileVideos, Tgif, Trecvid
from vtr_core.data.sources.clip_tokens import ClipTokens
from vtr_core.data.sources.faces import Faces
from vtr_core.data.sources.instructional.annotated_steps import CrossTask, MiningYouTube
from vtr_core.data.sources.instructional.howto100m import HowTo100M, YouCook2
from vtr_core.data.sources.lfw import Lfw
from vtr_core.data.sources.pairs import Captions, Pairs
from vtr_core.data.sources.source import Source
from vtr_core.data.sources.synthetic import Synthetic, SyntheticSteps, SyntheticTokens, SyntheticVideos

_WHOLE_ALONE = (BigFileVideos, Captions, ClipTokens, SyntheticTokens, Tgif, Trecvid)
"""Sources that write whole videos alone."""
_CLIPS = (ActivityNet, DiDeMo, HowTo100M, Msrvtt, Msvd, Pairs, Synthetic, YouCook2)
_WHOLE = (ActivityNetVideos, DiDeMoVideos, MsrvttVideos, MsvdVideos, SyntheticVideos)
_OTHERS = (CrossTask, MiningYouTube, SyntheticSteps, Faces, Lfw)

SOURCES: Mapping[str, type[Source]] = MappingProxyType({s.name: s for s in (*_WHOLE_ALONE, *_CLIPS, *_OTHERS)})
WHOLE_VIDEOS: Mapping[str, type[Source]] = MappingProxyType({s.name: s for s in (*_WHOLE_ALONE, *_WHOLE)})
"""Sources that can write whole videos."""
