"""The sources of `vtr ingest` by name, but for those that encode."""

from collections.abc import Mapping
from types import MappingProxyType

from vtr_core.data.sources.annotated_videos import (
    ActivityNet,
    ActivityNetVideos,
    DiDeMo,
    DiDeMoVideos,
    Lsmdc,
    LsmdcVideos,
    Msrvtt,
    MsrvttVideos,
    Msvd,
    MsvdVideos,
)
from vtr_core.data.sources.bigfile import BigFileVideos, Tgif, Trecvid
from vtr_core.data.sources.caption_table import Captions
from vtr_core.data.sources.clip_tokens import ClipTokens
from vtr_core.data.sources.faces import Faces, Olivetti
from vtr_core.data.sources.instructional.crosstask import CrossTask
from vtr_core.data.sources.instructional.howto100m import HowTo100M
from vtr_core.data.sources.instructional.mining_youtube import MiningYouTube
from vtr_core.data.sources.instructional.youcook2 import YouCook2
from vtr_core.data.sources.lfw import Lfw
from vtr_core.data.sources.pairs import Pairs
from vtr_core.data.sources.source import Source
from vtr_core.data.sources.synthetic import Synthetic, SyntheticSteps, SyntheticTokens, SyntheticVideos

SOURCES: Mapping[str, type[Source]] = MappingProxyType(
    {
        "activitynet": ActivityNet,
        "bigfile": BigFileVideos,
        "captions": Captions,
        "clip_tokens": ClipTokens,
        "crosstask": CrossTask,
        "didemo": DiDeMo,
        "faces": Faces,
        "howto100m": HowTo100M,
        "lfw": Lfw,
        "lsmdc": Lsmdc,
        "mining_youtube": MiningYouTube,
        "msrvtt": Msrvtt,
        "msvd": Msvd,
        "olivetti": Olivetti,
        "pairs": Pairs,
        "synthetic": Synthetic,
        "synthetic_steps": SyntheticSteps,
        "synthetic_tokens": SyntheticTokens,
        "tgif": Tgif,
        "trecvid": Trecvid,
        "youcook2": YouCook2,
    }
)
WHOLE_VIDEOS: Mapping[str, type[Source]] = MappingProxyType(
    {
        "activitynet": ActivityNetVideos,
        "bigfile": BigFileVideos,
        "captions": Captions,
        "clip_tokens": ClipTokens,
        "didemo": DiDeMoVideos,
        "lsmdc": LsmdcVideos,
        "msrvtt": MsrvttVideos,
        "msvd": MsvdVideos,
        "synthetic": SyntheticVideos,
        "synthetic_tokens": SyntheticTokens,
        "tgif": Tgif,
        "trecvid": Trecvid,
    }
)
"""Sources that can write whole videos."""
