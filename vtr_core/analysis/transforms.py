"""Transforms that concentrate the similarity of concept scores on fewer concepts, and on the top k."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, assert_never

import torch
from jaxtyping import Float, Int64
from torch import Tensor, sigmoid

from vtr_core import storage
from vtr_core.analysis.causality import drawn_captions
from vtr_core.config.data_sets import Comparison, ConceptSimilarity
from vtr_core.errors import ConfigError, DatasetError
from vtr_core.similarity import cosine, generalized_jaccard
from vtr_core.storage import locate

LARGEST_SCORE = 1e17


def transform(
    scores: Float[Tensor, "*rows concepts"],
    scale: float | int,
    shift: float | int,
    power: float | int,
    similarity: ConceptSimilarity = "jaccard",
) -> Float[Tensor, "*rows concepts"]:
    """The vectors that the similarity compares in place of σ(h) or h; `scores` are the logits h, before the sigmoid.

    jaccard: g = σ(a(h − b))^p, a probability.     cosine: h′ = sign(z)|z|^p with z = a(h − b).
    (a, b, p) = (1, 0, 1) is the identity bit for bit: σ(h) and h. The sign is kept because a fractional power of a
    negative number is undefined; a has no effect on a cosine.

    Source: thesis "Explainable video-text retrieval", equations 5.7 and 5.8. Raises ConfigError for a parameter that
    `Transform` refuses, and where a score gets so large that a sum of 512 products of two would overflow.
    """
    return Transform(similarity, float(scale), float(shift), float(power)).apply(scores)


@dataclass(frozen=True)
class Transform:
    """The parameters of `transform`: a (scale, above 0), b (shift) and p (power, above 0), all finite.

    transform.json holds one as {"similarity": "jaccard", "scale": 2.7, "shift": 0.0, "power": 1.0}; nothing else.
    """

    similarity: Comparison
    scale: float = 1.0
    shift: float = 0.0
    power: float = 1.0

    def __post_init__(self) -> None:
        for name, value in (("scale", self.scale), ("shift", self.shift), ("power", self.power)):
            if not math.isfinite(value):
                raise ConfigError(f"the {name} of a transform is {value}; it must be a finite number")
        for name, value in (("scale", self.scale), ("power", self.power)):
            if value <= 0:
                raise ConfigError(f"the {name} of a transform is {value:g}; it must be greater than 0")
        if self.similarity == "dot" and not self.is_identity:
            raise ConfigError("the concepts of a pretrained encoder are compared as they are: leave out the transform")

    @property
    def is_identity(self) -> bool:
        """Whether scores are compared as the model was trained."""
        return (self.scale, self.shift, self.power) == (1.0, 0.0, 1.0)

    def with_value(self, parameter: Literal["power", "scale", "shift"], value: float) -> "Transform":
        """The transform with another value of one parameter."""
        change: dict[str, Any] = {parameter: value}
        return replace(self, **change)

    def apply(self, scores: Float[Tensor, "*rows concepts"]) -> Float[Tensor, "*rows concepts"]:
        """`transform` with these parameters."""
        z = self.scale * (scores - self.shift)
        match self.similarity:
            case "jaccard":
                probability = sigmoid(z)
                return probability if self.power == 1.0 else probability**self.power
            case "cosine":
                return z if self.power == 1.0 else self._signed_power(z)
            case "dot":
                return scores
            case _:
                assert_never(self.similarity)

    def _signed_power(self, z: Tensor) -> Tensor:
        result = z.sign() * z.abs() ** self.power
        if not bool((result.abs() < LARGEST_SCORE).all()):
            raise ConfigError(
                f"with power = {self.power:g} and scale = {self.scale:g} transformed scores exceed {LARGEST_SCORE:g}, "
                "whose products exceed float32; take a smaller power or scale (a scale has no effect on a cosine)"
            )
        return result

    def write(self, uri: str) -> None:
        """Write transform.json to the file `uri`."""
        storage.write_json(locate(uri), asdict(self))


def read_transform(uri: str, similarity: ConceptSimilarity) -> Transform:
    """The transform of a file that `Transform.write` wrote; ConfigError where it is none, or for another similarity."""
    try:
        values = storage.read_json(locate(uri))
    except FileNotFoundError as error:
        raise ConfigError(f"{uri} does not exist; a transform is what vtr analyze causality writes") from error
    transform = _parsed(uri, values)
    if transform.similarity != similarity:
        raise ConfigError(
            f"{uri} is a transform for {transform.similarity} similarity, the model compares concepts by {similarity}; "
            "give one that vtr analyze causality wrote for this model"
        )
    return transform


def _parsed(uri: str, values: Any) -> Transform:
    expected = '{"similarity": "jaccard" or "cosine", "scale": number, "shift": number, "power": number}'
    names = ("scale", "shift", "power")
    if (
        not isinstance(values, dict)
        or values.keys() != {"similarity", *names}
        or values["similarity"] not in ("jaccard", "cosine")
        or any(type(values[name]) not in (int, float) for name in names)
    ):
        raise ConfigError(f"{uri} is no transform; it must hold {expected}")
    try:
        return Transform(values["similarity"], *(float(values[name]) for name in names))
    except ConfigError as error:
        raise ConfigError(f"{uri}: {error}") from error
    except OverflowError as error:
        raise ConfigError(f"{uri} holds a number that is too large; it must hold {expected}") from error


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
        drawn = drawn_captions(self.caption_video, len(self.video), most, seed)
        return ConceptSpace(self.text[drawn], self.video, self.caption_video[drawn], self.similarity)


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


PAIR_BLOCK = 1 << 25
"""Numbers held at a time: captions × videos × concepts of a block, 128 MiB for each of the two or three tensors."""


def top_k_similarity(
    text: Float[Tensor, "captions concepts"],
    video: Float[Tensor, "videos concepts"],
    ks: Sequence[int],
    similarity: ConceptSimilarity,
) -> dict[int, Float[Tensor, "captions videos"]]:
    """The similarity of every pair from the k concepts G that contribute the most to it, for several k at once.

    jaccard: Σ_{i∈G} min / Σ_{i∈G} max.     cosine: Σ_{i∈G} v_i s_i / (√Σ_{i∈G} v_i² · √Σ_{i∈G} s_i²).
    G is chosen for each pair: the k largest min(v_i, s_i), or |v_i s_i|; all concepts where there are fewer than k. A
    denominator of 0 gives 0. C@k is then 1 by construction. `text` and `video` are transformed scores. Costs a partial
    sort per pair, so it is meant for a part of a large set.
    """
    if not ks or min(ks) < 1:
        raise ConfigError(f"similarity from the top k concepts: k is {list(ks)}; give numbers of at least 1")
    most = min(max(ks), text.shape[1])
    rows = max(1, PAIR_BLOCK // video.numel())
    blocks: dict[int, list[Tensor]] = {k: [] for k in ks}
    for start in range(0, len(text), rows):
        above, below = _cumulative(text[start : start + rows], video, most, similarity)
        for k, parts in blocks.items():
            place = min(k, most) - 1
            parts.append(above[..., place] / torch.where(below[..., place] > 0, below[..., place], 1))
    return {k: torch.cat(parts) for k, parts in blocks.items()}


def _cumulative(
    text: Tensor, video: Tensor, most: int, similarity: ConceptSimilarity
) -> tuple[Float[Tensor, "captions videos most"], Float[Tensor, "captions videos most"]]:
    """Numerators and denominators with the 1, 2, … `most` strongest concepts of each pair."""
    s, v = text.unsqueeze(1), video.unsqueeze(0)
    match similarity:
        case "jaccard":
            strongest = torch.minimum(s, v).topk(most, dim=2)
            union = torch.maximum(s, v).gather(2, strongest.indices)
            return strongest.values.cumsum(2), union.cumsum(2)
        case "cosine":
            product = s * v
            chosen = product.abs().topk(most, dim=2).indices
            squares = [side.square().expand_as(product).gather(2, chosen).cumsum(2).sqrt() for side in (s, v)]
            return product.gather(2, chosen).cumsum(2), squares[0] * squares[1]
        case _:
            assert_never(similarity)
