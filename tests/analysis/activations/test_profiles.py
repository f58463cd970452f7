"""Concept profiles: planted concepts come out, and noise does not."""

import numpy as np
import pytest

from tests.reference import activations as reference
from vtr_core.analysis.concept_profiles import ConceptProfiles, clip_concepts, concept_profiles

CLIPS, NOISE = 2000, 200


@pytest.fixture(scope="module")
def found() -> ConceptProfiles:
    """Capsule 0 fires for exactly the 10 % of clips with a dog, 1 for all clips but those with a cat, 2 … 11 never."""
    rng = np.random.default_rng(0)
    dog, cat = np.arange(CLIPS) % 10 == 3, rng.random(CLIPS) < 0.5
    noise = rng.random((CLIPS, NOISE)) < rng.uniform(0.003, 0.2, NOISE)
    words = [
        {*({"dog"} if d else ()), *({"cat"} if c else ()), *(f"noise{j}" for j in np.flatnonzero(row))}
        for d, c, row in zip(dog, cat, noise, strict=True)
    ]
    activations = rng.random((CLIPS, 12))
    activations[:, 0] += dog
    activations[:, 1] -= cat
    return concept_profiles(activations.astype(np.float32), clip_concepts(words, np.arange(CLIPS), 2), 0.1)


def names(found: ConceptProfiles, capsule: int) -> list[str]:
    return [found.words[word] for word in found.strongest(capsule, 0.05)]


def test_the_planted_concept_comes_out_with_its_entropy(found: ConceptProfiles) -> None:
    assert names(found, 0) == ["dog"]
    dog = found.words.index("dog")
    assert found.information[dog, 0] == pytest.approx(reference.entropy(0.1))
    assert found.lift[dog, 0] == pytest.approx(10)
    assert found.mentions[dog] == CLIPS // 10
    assert found.p[dog, 0] < 1e-200


def test_a_concept_that_keeps_a_capsule_quiet_is_none_of_its_own(found: ConceptProfiles) -> None:
    assert names(found, 1) == []
    cat = found.words.index("cat")
    assert found.lift[cat, 1] == 0


def test_noise_names_no_concept(found: ConceptProfiles) -> None:
    """Of 2,000 pairs of noise about 100 have p ≤ 0.05; none survives."""
    assert len(found.words) == NOISE + 2
    assert (found.p[:, 2:] <= 0.05).sum() > 20
    assert not any(names(found, capsule) for capsule in range(2, 12))


def test_no_clips_and_no_words() -> None:
    nothing = concept_profiles(np.zeros((0, 3), np.float32), clip_concepts([], np.zeros(0, np.int64), 1), 0.1)
    assert nothing.information.shape == (0, 3)
    assert nothing.strongest(2, 0.05) == []
