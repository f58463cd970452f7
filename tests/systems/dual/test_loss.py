"""The dual objective: loops over rows, shares of workers, masks, missing modalities."""

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests.reference import dual as reference
from vtr_core.data.batches import RowKeys
from vtr_core.nn.embeddings import DualEmbeddings, Embeddings
from vtr_core.systems.dual.config import DualTripletConfig
from vtr_core.systems.dual.loss import DualObjective, concept_terms

ROWS, DIM, CONCEPTS = 7, 4, 6
KEYS = RowKeys(
    clip=torch.tensor([0, 1, 1, 2, 3, 4, 5]),
    video=torch.tensor([0, 1, 1, 2, 3, 4, 5]),
    caption=torch.tensor([9, 1, 2, 9, 4, 5, 6]),  # rows 0 and 3 have the same text
)
CONFIGS = {
    "default": DualTripletConfig(),
    "all": DualTripletConfig(negatives="all", margin=0.4),
    "weighted": DualTripletConfig(concept_weight=3.0),
    "second latent": DualTripletConfig(concept_weight=0.0),
    "published": DualTripletConfig(compat="hybrid_space"),
}


def _space(dim: int, seed: int, present: dict[str, Tensor]) -> Embeddings:
    generator = torch.Generator().manual_seed(seed)
    vectors = {}
    for name in ("text", "video"):
        values = torch.randn(ROWS, dim, generator=generator, dtype=torch.float64)
        vectors[name] = torch.where(present[name].unsqueeze(1), values, 0).requires_grad_()
    return Embeddings(vectors, present)


def _batch(no_text: tuple[int, ...] = (), no_video: tuple[int, ...] = ()) -> tuple[DualEmbeddings, Tensor]:
    present = {
        "text": torch.tensor([row not in no_text for row in range(ROWS)]),
        "video": torch.tensor([row not in no_video for row in range(ROWS)]),
    }
    labels = torch.rand(ROWS, CONCEPTS, generator=torch.Generator().manual_seed(5), dtype=torch.float32)
    return DualEmbeddings(_space(DIM, 0, present), _space(CONCEPTS, 1, present)), labels


def _expected(config: DualTripletConfig, similarity: str, found: DualEmbeddings, labels: Tensor) -> dict[str, Tensor]:
    """By loops, over the rows that have what is needed."""
    terms: dict[str, Tensor] = {}
    for name, space in (("latent", found.latent), ("concept", found.concept)):
        assert space is not None
        rows = torch.nonzero(space.present["text"] & space.present["video"])[:, 0].tolist()
        text, video = space.vectors["text"], space.vectors["video"]
        if name == "concept" and similarity == "jaccard":
            text, video = text.sigmoid(), video.sigmoid()
            compare = lambda a, b: torch.minimum(a, b).sum() / torch.maximum(a, b).sum()  # noqa: E731
        else:
            compare = lambda a, b: a @ b / (a.norm() * b.norm())  # noqa: E731
        scores = torch.stack([torch.stack([compare(video[i], text[j]) for j in rows]) for i in rows])
        keep = config.compat == "hybrid_space"
        negatives = torch.tensor(
            [
                [keep or not (KEYS.video[i] == KEYS.video[j] or KEYS.caption[i] == KEYS.caption[j]) for j in rows]
                for i in rows
            ]
        )
        terms[name] = reference.triplet(scores, config.margin, negatives, config.negatives)
        if name == "concept":
            for modality in ("video", "text"):
                there = torch.nonzero(space.present[modality])[:, 0].tolist()
                losses = [reference.cross_entropy(space.vectors[modality][i], labels[i].double()) for i in there]
                weight = len(there) if config.concept_weight is None else config.concept_weight
                terms[f"bce_{modality}"] = weight * torch.stack(losses).mean()
    return terms


def _leaves(found: DualEmbeddings) -> list[Tensor]:
    return [space.vectors[n] for space in (found.latent, found.concept) if space for n in ("text", "video")]


def _gradients(value: Tensor, found: DualEmbeddings) -> list[Tensor]:
    return [
        torch.zeros_like(leaf) if gradient is None else gradient
        for leaf, gradient in zip(
            _leaves(found),
            torch.autograd.grad(value, _leaves(found), allow_unused=True, retain_graph=True),
            strict=True,
        )
    ]


@pytest.mark.parametrize("missing", [{}, {"no_text": (1, 6), "no_video": (3,)}], ids=["complete", "incomplete"])
@pytest.mark.parametrize("similarity", ["jaccard", "cosine"])
@pytest.mark.parametrize("name", list(CONFIGS))
def test_values_and_gradients_equal_loops(name: str, similarity: str, missing: dict[str, tuple[int, ...]]) -> None:
    found, labels = _batch(**missing)
    losses = DualObjective(CONFIGS[name], similarity)(found, labels, KEYS)
    expected = _expected(CONFIGS[name], similarity, found, labels)
    assert losses.by_term.keys() == expected.keys()
    for term, value in expected.items():
        torch.testing.assert_close(losses.by_term[term], value, rtol=0, atol=1e-10)
    total = torch.stack(list(expected.values())).sum()
    torch.testing.assert_close(losses.total, total, rtol=0, atol=1e-10)
    for one, other in zip(_gradients(losses.total, found), _gradients(total, found), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_one_space_alone_has_its_own_terms() -> None:
    found, labels = _batch()
    objective = DualObjective(DualTripletConfig(), "jaccard")
    latent = objective(replace(found, concept=None), None, KEYS)
    concept = objective(replace(found, latent=None), labels, KEYS)
    assert set(latent.by_term) == {"latent"}
    assert set(concept.by_term) == {"concept", "bce_video", "bce_text"}
    assert latent.ranges[1].tolist() == [torch.inf, -torch.inf]
    assert concept.ranges[0].tolist() == [torch.inf, -torch.inf]
    both = objective(found, labels, KEYS)
    torch.testing.assert_close(latent.total + concept.total, both.total)


@pytest.mark.parametrize("missing", [tuple(range(ROWS)), tuple(range(1, ROWS))])
def test_too_few_rows_cost_nothing_but_their_detection(missing: tuple[int, ...]) -> None:
    found, labels = _batch(no_text=missing)
    losses = DualObjective(DualTripletConfig(), "jaccard")(found, labels, KEYS)
    assert losses.by_term["latent"] == 0
    assert losses.by_term["concept"] == 0
    assert losses.by_term["bce_video"] > 0
    assert (losses.by_term["bce_text"] == 0) == (len(missing) == ROWS)


def test_detection_is_finite_and_exact_for_any_score() -> None:
    scores = torch.tensor([[1e4, -1e4, 0.0]], dtype=torch.float64)
    labels = torch.tensor([[1.0, 0.0, 0.5]])
    assert float(concept_terms(scores, labels)) == pytest.approx(math.log(2) / 3, abs=1e-12)
    assert float(concept_terms(-scores, labels)) == pytest.approx((2e4 + math.log(2)) / 3, rel=1e-12)


def test_without_ranking_concepts_are_learned_by_their_detection_alone() -> None:
    embeddings, labels = _batch()
    plain = DualObjective(DualTripletConfig(), "jaccard")(embeddings, labels, KEYS)
    detected = DualObjective(DualTripletConfig(ranks_concepts=False), "jaccard")(embeddings, labels, KEYS)
    assert "concept" not in detected.by_term
    assert detected.total.item() == pytest.approx(plain.total.item() - plain.by_term["concept"].item())
    assert torch.equal(detected.ranges, plain.ranges)


def test_settings_of_earlier_versions_are_taken_where_they_have_no_effect() -> None:
    stored = DualTripletConfig().model_dump(mode="json") | {"causality_weight": 0.0, "causality_concepts": 10}
    assert DualTripletConfig.model_validate(stored) == DualTripletConfig()
    with pytest.raises(ValueError, match="causality_weight"):
        DualTripletConfig.model_validate(stored | {"causality_weight": 5.0})
