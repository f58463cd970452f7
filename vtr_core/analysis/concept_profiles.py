"""What capsules stand for: how often each is used, and the words of the clips that activate it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int64, UInt64
from scipy.sparse import csr_array
from scipy.special import gammaln, rel_entr
from scipy.stats import entropy, false_discovery_control

from vtr_core.text.concepts import is_concept
from vtr_core.text.tokens.vocabulary import tokenise


def priorities(clip_key: Int64[np.ndarray, " clips"], seed: int) -> UInt64[np.ndarray, " clips"]:
    """A pseudo-random number of each clip; the clips with the lowest ones are a uniform sample without replacement.

    splitmix64's finaliser of key + (seed + 1) · the golden-ratio increment (Steele et al. 2014), modulo 2⁶⁴.
    """
    increment = np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
    mixed = clip_key.view(np.uint64) + increment
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def lowest(priority: UInt64[np.ndarray, " clips"], count: int) -> Int64[np.ndarray, " kept"]:
    """The positions of the `count` lowest priorities, or of all, ascending; ties go to the first."""
    return np.sort(np.argsort(priority, kind="stable")[:count]).astype(np.int64)


LEADING = 5
"""A capsule leads on a clip when it is among this many most active capsules."""
FLAT = 0.01
"""A capsule is flat when the standard deviation of its activation is less than this fraction of the mean."""


@dataclass(frozen=True)
class CapsuleUsage:
    """The usage of every capsule by one modality of one data set."""

    mean: Float64[np.ndarray, " capsules"]
    deviation: Float64[np.ndarray, " capsules"]
    """The population's, over clips."""
    led: Int64[np.ndarray, " capsules"]
    """Clips on which the capsule is among the `LEADING` strongest (half of the capsules, where there are fewer)."""

    entropy: float
    """Mean over clips of `clip_entropies`, in bits: how evenly a clip's activations are spread over the capsules."""

    @property
    def flat(self) -> Bool[np.ndarray, " capsules"]:
        """Whether a capsule's activation is nearly constant over the clips."""
        return self.deviation < FLAT * self.mean

    @property
    def dead(self) -> Bool[np.ndarray, " capsules"]:
        """Whether a capsule does not discriminate clips: it is flat, or never among the strongest."""
        return self.flat | (self.led == 0)


def clip_entropies(activations: Float32[np.ndarray, "clips capsules"]) -> Float64[np.ndarray, " clips"]:
    """The entropy of each clip's activations, normalised to the sum 1, in bits: log₂ capsules where all are equal.

    The entropy of the mean activations would not do: it is as large if every clip has one capsule of its own. 0 for a
    clip without any activation.
    """
    bits: Float64[np.ndarray, " clips"] = entropy(activations.astype(np.float64), base=2, axis=1)
    return np.where(activations.sum(axis=1) > 0, bits, 0.0)


def capsule_usage(activations: Float32[np.ndarray, "clips capsules"]) -> CapsuleUsage:
    """The usage over all clips, at least one. Of equally active capsules those with lower numbers lead."""
    capsules = activations.shape[1]
    leaders = np.argsort(-activations, axis=1, kind="stable")[:, : max(1, min(LEADING, capsules // 2))]
    exact = activations.astype(np.float64)
    led = np.bincount(leaders.ravel(), minlength=capsules)
    return CapsuleUsage(exact.mean(axis=0), exact.std(axis=0), led, float(clip_entropies(activations).mean()))


@dataclass(frozen=True)
class ClipConcepts:
    """`mentions` has a row for each clip and a column for each of `words`: 1 where the clip names the word."""

    words: tuple[str, ...]
    mentions: csr_array


def concept_words(captions: Sequence[str]) -> frozenset[str]:
    """The concepts named by any of a clip's captions: their words without function words."""
    return frozenset(word for caption in captions for word in tokenise(caption) if is_concept(word))


def clip_concepts(
    words_of: Sequence[Collection[str]], video_key: Int64[np.ndarray, " clips"], min_videos: int
) -> ClipConcepts:
    """The concepts named by clips of at least `min_videos` videos, in alphabetical order.

    words_of: distinct words of each clip. Videos are counted, not clips: a word from a single long video is no concept.
    """
    ids: dict[str, int] = {}
    concept = np.fromiter((ids.setdefault(word, len(ids)) for words in words_of for word in words), np.int64)
    clip = np.repeat(np.arange(len(words_of)), [len(words) for words in words_of]).astype(np.int64)
    video = np.unique(video_key, return_inverse=True)[1]
    ones, shape = np.ones(len(clip), np.int64), (len(words_of), len(ids))  # positions given twice are added up
    frequency = (csr_array((ones, (video[clip], concept)), shape) > 0).sum(axis=0)
    frequent = sorted((word, number) for word, number in ids.items() if frequency[number] >= min_videos)
    mentions = csr_array((ones, (clip, concept)), shape)
    return ClipConcepts(tuple(word for word, _ in frequent), mentions[:, [number for _, number in frequent]])


def is_active(
    activations: Float32[np.ndarray, "clips capsules"], active_share: float
) -> Bool[np.ndarray, "clips capsules"]:
    """Whether a clip is among a capsule's own strongest ones: the share `active_share` of all clips, at least one.

    Activations are a softmax over capsules, so a threshold common to all would compare capsules, not clips. Ties are
    treated alike: all clips that equal the weakest active one are active too, unless that value is the capsule's
    minimum; then only the clips above it are. So a capsule with constant activation is never active.
    """
    clips = len(activations)
    if not clips:
        return np.zeros(activations.shape, np.bool_)
    count = max(1, int(active_share * clips))
    last = np.partition(activations, clips - count, axis=0)[clips - count]
    return np.where(last > activations.min(axis=0), activations >= last, activations > last)


def joint_counts(
    concepts: ClipConcepts, active: Bool[np.ndarray, "clips capsules"]
) -> Int64[np.ndarray, "words capsules"]:
    """The number of clips that name a concept while a capsule is active: the product of both 0/1 matrices."""
    return concepts.mentions.T @ active.astype(np.int64)


def mutual_information(
    joint: Int64[np.ndarray, "words capsules"],
    mentions: Int64[np.ndarray, " words"],
    active: Int64[np.ndarray, " capsules"],
    clips: int,
) -> Float64[np.ndarray, "words capsules"]:
    """I(active; named) = Σ p(x, y) log₂ (p(x, y) / p(x) p(y)) over the four cells, in bits.

    The plug-in estimate: relative frequencies in place of probabilities, 0 log 0 = 0. Rounding never makes it negative.
    """
    rows, columns = mentions[:, None], active[None, :]
    cells = (
        (joint, rows, columns),
        (rows - joint, rows, clips - columns),
        (columns - joint, clips - rows, columns),
        (clips - rows - columns + joint, clips - rows, clips - columns),
    )
    nats = sum(rel_entr(cell / clips, row * column / clips**2) for cell, row, column in cells)
    return np.maximum(nats / np.log(2), 0)


def lift(
    joint: Int64[np.ndarray, "words capsules"],
    mentions: Int64[np.ndarray, " words"],
    active: Int64[np.ndarray, " capsules"],
    clips: int,
) -> Float64[np.ndarray, "words capsules"]:
    """P(named | active) / P(named): above 1 for a positive association, below 1 for a negative one.

    1 for a capsule that is never active.
    """
    expected = np.outer(mentions, active) / clips
    return np.divide(joint, expected, out=np.ones(joint.shape), where=expected > 0)


def exact_p_values(
    joint: Int64[np.ndarray, "words capsules"],
    mentions: Int64[np.ndarray, " words"],
    active: Int64[np.ndarray, " capsules"],
    clips: int,
) -> Float64[np.ndarray, "words capsules"]:
    """Fisher's exact test of each pair: p = min(1, 2 min(P(K ≤ k), P(K ≥ k))), K hypergeometric with both margins.

    Exact because most words are rare: with few expected joint clips the G-test finds concepts in noise. Clips count as
    independent, which those of one video hardly are. A p-value depends on the two margins and the joint count alone, so
    the loop is over distinct margins, not over pairs: a hundred times as fast as scipy's hypergeom.
    """
    log_factorial = gammaln(np.arange(clips + 1) + 1)
    result = np.ones(joint.shape)
    for active_clips in np.unique(active):
        columns = np.flatnonzero(active == active_clips)
        for mentioning in np.unique(mentions):
            rows = np.flatnonzero(mentions == mentioning)
            table = _two_sided(log_factorial, int(mentioning), int(active_clips), clips)
            least = max(0, int(mentioning + active_clips) - clips)
            result[np.ix_(rows, columns)] = table[joint[np.ix_(rows, columns)] - least]
    return result


def _two_sided(log_factorial: np.ndarray, mentions: int, active: int, clips: int) -> np.ndarray:
    """The p-value of every joint count that the margins allow, from the smallest up."""
    k = np.arange(max(0, mentions + active - clips), min(mentions, active) + 1)

    def log_choose(n: int, r: np.ndarray) -> np.ndarray:
        return np.asarray(log_factorial[n] - log_factorial[r] - log_factorial[n - r])

    total = log_factorial[clips] - log_factorial[active] - log_factorial[clips - active]
    mass = np.exp(log_choose(mentions, k) + log_choose(clips - mentions, active - k) - total)
    up_to, from_on = np.cumsum(mass), np.cumsum(mass[::-1])[::-1]
    return np.minimum(1.0, 2 * np.minimum(up_to, from_on))


def adjusted(p_values: Float64[np.ndarray, "*shape"]) -> Float64[np.ndarray, "*shape"]:
    """Benjamini and Hochberg's adjusted p-values over all entries: q₍ᵢ₎ = min over j ≥ i of p₍ⱼ₎ n / j.

    Among the entries with q ≤ α the expected share of false discoveries is at most α.
    """
    return false_discovery_control(p_values, axis=None).reshape(p_values.shape)


@dataclass(frozen=True)
class ConceptProfiles:
    """The profiles over all concepts and capsules, for one modality of one data set."""

    words: tuple[str, ...]
    mentions: Int64[np.ndarray, " words"]
    """Clips that name the concept."""
    information: Float64[np.ndarray, "words capsules"]
    """Mutual information in bits."""
    lift: Float64[np.ndarray, "words capsules"]
    p: Float64[np.ndarray, "words capsules"]
    q: Float64[np.ndarray, "words capsules"]
    """The p-values, adjusted over all concepts and capsules."""

    def strongest(self, capsule: int, false_discoveries: float) -> list[int]:
        """The concepts that a capsule's activity makes more likely, by descending information, then the word.

        Significant: q ≤ `false_discoveries`.
        """
        q, information = self.q[:, capsule], self.information[:, capsule]
        significant = np.flatnonzero((q <= false_discoveries) & (self.lift[:, capsule] > 1))
        return sorted(significant.tolist(), key=lambda word: (-information[word], self.words[word]))


def concept_profiles(
    activations: Float32[np.ndarray, "clips capsules"], concepts: ClipConcepts, active_share: float
) -> ConceptProfiles:
    """The profiles of all capsules; the rows of `activations` are the clips of `concepts`."""
    active = is_active(activations, active_share)
    joint = joint_counts(concepts, active)
    mentions = concepts.mentions.sum(axis=0)
    counts = (joint, mentions, active.sum(axis=0).astype(np.int64), len(activations))
    p = exact_p_values(*counts)
    return ConceptProfiles(
        words=concepts.words,
        mentions=mentions,
        information=mutual_information(*counts),
        lift=lift(*counts),
        p=p,
        q=adjusted(p),
    )
