"""The sources of `vtr ingest` by name, but for those that encode."""

from collections.abc import Mapping
from types import MappingProxyType

from vtr_core.data.sources.activitynet.activitynet import ActivityNet, ActivityNetVideos
from vtr_core.data.sources.bigfile.collection import BigFileVideos
from vtr_core.data.sources.bigfile.tgif import Tgif
from vtr_core.data.sources.bigfile.trecvid import Trecvid
from vtr_core.data.sources.captions import Captions
from vtr_core.data.sources.clip.tokens import ClipTokens
from vtr_core.data.sources.crosstask.crosstask import CrossTask
from vtr_core.data.sources.didemo.didemo import DiDeMo, DiDeMoVideos
from vtr_core.data.sources.faces.folder import Faces
from vtr_core.data.sources.faces.lfw import Lfw
from vtr_core.data.sources.faces.olivetti import Olivetti
from vtr_core.data.sources.howto100m.howto100m import HowTo100M
from vtr_core.data.sources.lsmdc.lsmdc import Lsmdc, LsmdcVideos
from vtr_core.data.sources.mining_youtube.mining_youtube import MiningYouTube
from vtr_core.data.sources.msrvtt.msrvtt import Msrvtt, MsrvttVideos
from vtr_core.data.sources.msvd.msvd import Msvd, MsvdVideos
from vtr_core.data.sources.pairs.pairs import Pairs
from vtr_core.data.sources.source import Source
from vtr_core.data.sources.synthetic.clips import Synthetic
from vtr_core.data.sources.synthetic.steps import SyntheticSteps
from vtr_core.data.sources.synthetic.tokens import SyntheticTokens
from vtr_core.data.sources.synthetic.videos import SyntheticVideos
from vtr_core.data.sources.youcook2 import YouCook2

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
