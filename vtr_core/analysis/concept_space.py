"""The concept scores of a data set, which every transform starts from without running the model again."""

from dataclasses import dataclass
from typing import assert_never

from jaxtyping import Float, Int64
from torch import Tensor

from vtr_core.analysis.pair_sets import drawn_captions
from vtr_core.analysis.transforms import ConceptSimilarity, Transform
from vtr_core.errors import DatasetError
from vtr_core.similarity import cosine, generalized_jaccard


@dataclass(frozen=True)
class ConceptSpace:
    """Logits h (scores before the sigmoid) of captions and videos; caption i belongs to video `caption_video[i]`."""

    text: Float[Tensor, "captions concepts"]
    video: Float[Tensor, "videos concepts"]
    caption_video: Int64[Tensor, " captions"]
    similarity: ConceptSimilarity

    def __post_init__(self) -> None:
        if not len(self.text) or not len(self.video):
            raise DatasetError(f"{len(self.text)} captions and {len(self.video)} videos; at least one of each")
        for name, scores in (("text", self.text), ("video", self.video)):
            if not scores.isfinite().all():
                raise DatasetError(f"{name} has a concept score that is not finite; the model is damaged")

    @property
    def identity(self) -> Transform:
        """The identity transform, which leaves scores as the model was trained."""
        return Transform(self.similarity)

    def scores(self, transform: Transform) -> Float[Tensor, "captions videos"]:
        """The similarity of every caption with every video after the transform."""
        return concept_similarity(transform.apply(self.text), transform.apply(self.video), self.similarity)

    def few_captions(self, most: int, seed: int) -> "ConceptSpace":
        """The space with at most this many captions of each video, drawn with `seed`; all videos are kept."""
        kept = drawn_captions(self.caption_video, len(self.video), most, seed)
        return ConceptSpace(self.text[kept], self.video, self.caption_video[kept], self.similarity)


def concept_similarity(
    text: Float[Tensor, "captions concepts"], video: Float[Tensor, "videos concepts"], similarity: ConceptSimilarity
) -> Float[Tensor, "captions videos"]:
    """The similarity matrix of transformed scores: generalised Jaccard of probabilities, or cosine of scores."""
    match similarity:
        case "jaccard":
            return generalized_jaccard(text, video)
        case "cosine":
            return cosine(text, video)
        case _:
            assert_never(similarity)
