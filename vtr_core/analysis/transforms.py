"""Transforms that concentrate the similarity of concept scores on fewer concepts, and the file that stores one."""

import math
from dataclasses import asdict, dataclass
from typing import Any, assert_never

from jaxtyping import Float
from torch import Tensor, sigmoid

from vtr_core import storage
from vtr_core.config.concept_similarity import Comparison, ConceptSimilarity
from vtr_core.errors import ConfigError
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
    found = _parsed(uri, values)
    if found.similarity != similarity:
        raise ConfigError(
            f"{uri} is a transform for {found.similarity} similarity, the model compares concepts by {similarity}; "
            "give one that vtr analyze causality wrote for this model"
        )
    return found


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
