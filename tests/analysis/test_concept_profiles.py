"""What capsules respond to: samples of clips, words, information, significance, use."""

import numpy as np
import pytest

from tests.reference import activations as slow_activations
from vtr_core.analysis.concept_profiles import (
    ClipConcepts,
    ConceptProfiles,
    adjusted,
    capsule_usage,
    clip_concepts,
    concept_profiles,
    concept_words,
    exact_p_values,
    is_active,
    joint_counts,
    lift,
    lowest,
    mutual_information,
    priorities,
)


def test_captions_give_their_content_words_once_in_lower_case() -> None:
    captions = ["A Dog is chasing THE ball", "it's the dog, again!", "we don't know 42 x"]
    assert concept_words(captions) == {"dog", "chasing", "ball", "know"}


def test_a_word_must_occur_in_enough_videos_not_clips() -> None:
    words = [{"dog", "ball"}, {"dog"}, {"dog", "ball"}, set(), {"ball"}]
    found = clip_concepts(words, np.array([7, 7, 7, 8, 9]), min_videos=2)
    assert found.words == ("ball",)  # three clips name a dog, all of one video
    assert found.mentions.toarray().ravel().tolist() == [1, 0, 1, 0, 1]


def planted(clips: int, words: int, seed: int) -> tuple[ClipConcepts, np.ndarray]:
    """Concepts w0, w1, … that clips name at random; and the matrix of who names what."""
    names = np.random.default_rng(seed).random((clips, words)) < 0.3
    return clip_concepts([{f"w{j}" for j in np.flatnonzero(row)} for row in names], np.arange(clips), 1), names


@pytest.mark.parametrize("levels", [2, 5, 1000])
@pytest.mark.parametrize("share", [0.001, 0.1, 0.4])
def test_active_clips_are_the_strongest_with_ties(levels: int, share: float) -> None:
    values = np.random.default_rng(1).integers(0, levels, (57, 6)).astype(np.float32)
    expected = [slow_activations.active_clips(column.tolist(), share) for column in values.T]
    np.testing.assert_array_equal(is_active(values, share), np.array(expected).T)


def test_a_constant_capsule_is_never_active_and_a_switch_is_active_when_on() -> None:
    switch = np.array([0, 0, 1, 1, 1, 0, 0, 0, 0, 0])
    rare = np.array([1, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    values = np.stack([np.full(10, 0.5), switch, rare], axis=1).astype(np.float32)
    np.testing.assert_array_equal(is_active(values, 0.2), np.stack([np.zeros(10), switch, rare], axis=1) == 1)
    assert is_active(np.zeros((0, 2), np.float32), 0.1).shape == (0, 2)


def test_information_and_lift_are_those_of_the_pairs() -> None:
    concepts, names = planted(60, 4, seed=2)
    active = np.random.default_rng(3).random((60, 3)) < 0.2
    joint = joint_counts(concepts, active)
    counts = (joint, names.sum(axis=0), active.sum(axis=0), 60)
    bits, lifts = mutual_information(*counts), lift(*counts)
    for word in range(4):
        for capsule in range(3):
            x, y = active[:, capsule].tolist(), names[:, word].tolist()
            assert joint[word, capsule] == sum(a and b for a, b in zip(x, y, strict=True))
            assert bits[word, capsule] == pytest.approx(slow_activations.mutual_information(x, y), abs=1e-12)
            while_active = np.mean([b for a, b in zip(x, y, strict=True) if a])
            assert lifts[word, capsule] == pytest.approx(while_active / np.mean(y))


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
    assert found.information[dog, 0] == pytest.approx(slow_activations.entropy(0.1))
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


def splitmix(key: int, seed: int) -> int:
    mask = 2**64 - 1
    z = (key + (seed + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def test_priorities_are_splitmix64() -> None:
    assert int(priorities(np.array([0]), 0)[0]) == 0xE220A8397B1DCDAF  # the generator's first number from state 0
    keys = np.array([-5, 0, 3, 2**62])
    assert priorities(keys, 7).tolist() == [splitmix(int(key), 7) for key in keys]


def test_the_lowest_are_a_uniform_sample() -> None:
    """Over 200 seeds each of 40 clips is among the ten lowest about 50 times (4 deviations are 24)."""
    keys = np.arange(40)
    counts = sum(np.bincount(lowest(priorities(keys, seed), 10), minlength=40) for seed in range(200))
    assert counts.sum() == 2000
    assert 26 <= counts.min() <= counts.max() <= 74


@pytest.mark.parametrize("clips", [7, 40])
def test_p_values_are_those_of_whole_numbers(clips: int) -> None:
    """Every joint count that small margins allow, several pairs in one call."""
    rng = np.random.default_rng(clips)
    named, active = rng.integers(0, clips + 1, 9), rng.integers(0, clips + 1, 5)
    joint = np.array([[rng.integers(max(0, n + a - clips), min(n, a) + 1) for a in active] for n in named])
    found = exact_p_values(joint, named, active, clips)
    expected = [[slow_activations.exact_p(int(k), int(n), int(a), clips) for a, k in zip(active, row, strict=True)]
                for n, row in zip(named, joint, strict=True)]  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_far_tail_keeps_its_digits() -> None:
    found = exact_p_values(np.array([[300]]), np.array([300]), np.array([400]), 4000)[0, 0]
    assert found == pytest.approx(slow_activations.exact_p(300, 300, 400, 4000), rel=1e-8)
    assert found < 1e-250


@pytest.mark.parametrize("levels", [4, 10**6])
def test_adjusted_p_values(levels: int) -> None:
    p = np.random.default_rng(5).integers(1, levels + 1, (6, 5)) / levels
    expected = np.reshape(slow_activations.adjusted(p.ravel().tolist()), p.shape)
    np.testing.assert_allclose(adjusted(p), expected, rtol=1e-12)


def test_moments_and_leads() -> None:
    values = np.random.default_rng(0).random((30, 12)).astype(np.float32)
    usage = capsule_usage(values)
    np.testing.assert_allclose(usage.mean, values.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(usage.deviation, values.std(axis=0), rtol=1e-5)
    led = [sum(c in sorted(range(12), key=lambda j: -row[j])[:5] for row in values) for c in range(12)]
    assert usage.led.tolist() == led


def test_flat_capsules_and_those_that_never_lead_are_dead() -> None:
    """Capsule 0 hardly varies, though it always leads; capsule 3 varies, but is the weakest; two of four lead."""
    rng = np.random.default_rng(1)
    values = rng.uniform(0.2, 0.4, (50, 4))
    values[:, 0] = 0.7 + 0.001 * rng.random(50)
    values[:, 3] = 0.1 * rng.random(50)
    usage = capsule_usage(values.astype(np.float32))
    assert usage.led[[0, 3]].tolist() == [50, 0]
    assert usage.flat.tolist() == [True, False, False, False]
    assert usage.dead.tolist() == [True, False, False, True]


def test_entropy_is_a_clips_and_not_that_of_all_clips_together() -> None:
    """A capsule of its own for every clip: each clip has chosen one, although all are used equally."""
    assert capsule_usage(np.eye(4, dtype=np.float32)).entropy == pytest.approx(0)
    assert capsule_usage(np.zeros((2, 4), np.float32)).entropy == 0
    rows = np.random.default_rng(0).random((5, 4), np.float32)
    slow = [-sum(p * np.log2(p) for p in row / row.sum()) for row in rows.astype(np.float64)]
    assert capsule_usage(rows).entropy == pytest.approx(np.mean(slow))
