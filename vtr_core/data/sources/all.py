"""The sources of `vtr ingest` by name, but for those that encode."""

from collections.abc import Mapping
from types import MappingProxyType

from vtr_core.data.sources.annotated.activitynet import ActivityNet, ActivityNetVideos
from vtr_core.data.sources.annotated.didemo import DiDeMo, DiDeMoVideos
from vtr_core.data.sources.annotated.lsmdc import Lsmdc, LsmdcVideos
from vtr_core.data.sources.annotated.msrvtt import Msrvtt, MsrvttVideos
from vtr_core.data.sources.annotated.msvd import Msvd, MsvdVideos
from vtr_core.data.sources.bigfile import BigFileVideos, Tgif, Trecvid
from vtr_core.data.sources.clip.tokens import ClipTokens
from vtr_core.data.sources.faces import Faces, Olivetti
from vtr_core.data.sources.instructional.crosstask import CrossTask
from vtr_core.data.sources.instructional.howto100m import HowTo100M
from vtr_core.data.sources.instructional.mining_youtube import MiningYouTube
from vtr_core.data.sources.instructional.youcook2 import YouCook2
from vtr_core.data.sources.lfw import Lfw
from vtr_core.data.sources.pairs import Captions, Pairs
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
