"""A page of generated captions beside their references: one HTML file without scripts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import jinja2
import numpy as np

from vtr_core.metrics.captioning import CaptionTokenizer, cider
from vtr_core.systems.descriptions import CaptionedVideos

TEMPLATE = "captions.html"
_TOKENIZER: CaptionTokenizer = "words"


@dataclass(frozen=True)
class CaptionExample:
    """A video's generated caption, its references, and the caption's CIDEr-D times 100 where there are references."""

    video_id: str
    caption: str
    references: tuple[str, ...]
    score: float | None
    has_frames: bool


def examples(videos: CaptionedVideos, count: int) -> list[CaptionExample]:
    """At most `count` videos: evenly from the best to the worst by CIDEr-D, ties and all without references in file
    order; those without references come last."""
    captioned = {name: texts for name, texts in videos.references.items() if texts}
    hypotheses = {name: videos.hypotheses[name] for name in captioned}
    scores = cider(hypotheses, captioned, tokenizer=_TOKENIZER).by_id if captioned else {}
    order = sorted(videos.hypotheses, key=lambda name: -scores.get(name, -1.0))
    places = np.unique(np.linspace(0, len(order) - 1, min(count, len(order))).round().astype(int))
    return [_example(videos, order[place], scores) for place in places.tolist()]


def _example(videos: CaptionedVideos, name: str, scores: Mapping[str, float]) -> CaptionExample:
    score = 100 * scores[name] if name in scores else None
    return CaptionExample(name, videos.hypotheses[name], videos.references[name], score, videos.seen[name])


def render_captions(shown: Sequence[CaptionExample], **details: object) -> str:
    """The page as HTML. All text is escaped: ids and captions are arbitrary strings."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("vtr_core.systems.captioning", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(TEMPLATE).render(examples=shown, tokenizer=_TOKENIZER, **details)
