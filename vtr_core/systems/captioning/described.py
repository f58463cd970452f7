"""Generated captions of a data set's videos."""

from collections.abc import Mapping, Sequence

from vtr_core.config.override import override
from vtr_core.data.captions.video_captions import video_captions
from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import RowGroup, row_groups
from vtr_core.run.inputs import usable_data
from vtr_core.systems.captioning.config import CaptionerConfig, DecodingConfig
from vtr_core.systems.captioning.evaluation import caption_videos, check_vocabulary, require_captioner
from vtr_core.systems.captioning.inputs.rows import check_data
from vtr_core.systems.captioning.page import examples, render_captions
from vtr_core.systems.descriptions import CaptionedVideos, Descriptions
from vtr_core.systems.loaded_model import TrainedModel


def describe_data(loaded: TrainedModel, uri: str, changes: Mapping[str, object], num_examples: int) -> Descriptions:
    """Captions of all videos of a data set with changed decoding settings, and a page with `num_examples` of them."""
    decoding = override(require_captioner(loaded.model, loaded.uri).config.decoding, changes)
    manifest = describable(loaded, uri)
    videos = describe(loaded, manifest, decoding, row_groups(manifest))
    shown = examples(videos, num_examples)
    page = render_captions(shown, checkpoint=loaded.uri, data=manifest.uri, decoding=decoding.model_dump())
    return Descriptions(videos, page, len(shown))


def describable(loaded: TrainedModel, uri: str) -> Manifest:
    """The manifest of a data set of whole videos that has the captioner's feature."""
    assert isinstance(loaded.config.model, CaptionerConfig)
    manifest = usable_data(loaded.config.model, uri)
    check_data(manifest, loaded.config.model)
    return manifest


def describe(
    loaded: TrainedModel, manifest: Manifest, decoding: DecodingConfig, places: Sequence[RowGroup]
) -> CaptionedVideos:
    """A caption for every video in these row groups.

    Raises DatasetError where the references are of another corpus than the training captions.
    """
    model = require_captioner(loaded.model, loaded.uri)
    references = [text for video in video_captions(manifest) for text in video.captions]
    check_vocabulary(loaded.vocabulary, references, manifest.uri)
    return caption_videos(model, loaded.config, manifest, loaded.vocabulary, places, decoding)
