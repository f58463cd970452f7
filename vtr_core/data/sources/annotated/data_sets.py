"""The annotation files of published data sets of captioned videos, by the data set's name."""

from collections.abc import Iterable
from typing import Literal, assert_never

from vtr_core.data.sources.activitynet.annotations import read_activitynet
from vtr_core.data.sources.annotated.video import AnnotatedVideo
from vtr_core.data.sources.didemo.annotations import read_didemo
from vtr_core.data.sources.lsmdc.annotations import read_lsmdc
from vtr_core.data.sources.msrvtt.annotations import read_annotations
from vtr_core.data.sources.msvd.annotations import read_msvd
from vtr_core.data.sources.source import Drops

AnnotatedDataSet = Literal["msrvtt", "msrvtt-1k-a", "msvd", "didemo", "activitynet", "lsmdc"]


def read_annotated(name: AnnotatedDataSet, annotations: str, drops: Drops) -> Iterable[AnnotatedVideo]:
    """The videos of the annotation files of `name` in the folder `annotations`; faults as the data set's reader."""
    match name:
        case "msrvtt":
            return read_annotations(annotations, "official", drops)
        case "msrvtt-1k-a":
            return read_annotations(annotations, "1k-a", drops)
        case "msvd":
            return read_msvd(annotations, drops)
        case "didemo":
            return read_didemo(annotations, drops)
        case "activitynet":
            return read_activitynet(annotations, drops)
        case "lsmdc":
            return read_lsmdc(annotations, drops)
        case _:
            assert_never(name)
