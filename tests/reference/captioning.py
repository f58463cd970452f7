"""Caption figures and information content by the plainest code: dictionaries and loops."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

Words = Sequence[str]


def grams(words: Words, n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def document_frequency(documents: Sequence[Sequence[Words]]) -> Counter[tuple[str, ...]]:
    frequency: Counter[tuple[str, ...]] = Counter()
    for texts in documents:
        frequency.update({gram for words in texts for n in (1, 2, 3, 4) for gram in grams(words, n)})
    return frequency


def vector(words: Words, n: int, frequency: Counter[tuple[str, ...]], documents: int) -> dict[tuple[str, ...], float]:
    return {
        gram: count * (math.log(documents) - math.log(max(1, frequency[gram])))
        for gram, count in grams(words, n).items()
    }


def length(values: Mapping[tuple[str, ...], float]) -> float:
    return math.sqrt(sum(value**2 for value in values.values()))


def similarity(hypothesis: Words, reference: Words, frequency: Counter[tuple[str, ...]], documents: int) -> float:
    apart = max(0, len(hypothesis) - 1) - max(0, len(reference) - 1)
    total = 0.0
    for n in (1, 2, 3, 4):
        h, r = (vector(words, n, frequency, documents) for words in (hypothesis, reference))
        product = sum(min(value, r.get(gram, 0.0)) * r.get(gram, 0.0) for gram, value in h.items())
        if length(h) > 0 and length(r) > 0:
            total += product / (length(h) * length(r)) * math.exp(-(apart**2) / (2 * 6.0**2))
    return total / 4


def cider(hypotheses: Mapping[str, str], references: Mapping[str, Sequence[str]]) -> dict[str, float]:
    documents = [[text.split() for text in references[name]] for name in hypotheses]
    frequency = document_frequency(documents)
    return {
        name: 10
        * sum(similarity(hypotheses[name].split(), words, frequency, len(documents)) for words in texts)
        / len(texts)
        for name, texts in zip(hypotheses, documents, strict=True)
    }


def leave_one_out(documents: Sequence[Sequence[Words]]) -> list[list[float]]:
    """NaN for the only caption of a video."""
    frequency = document_frequency(documents)
    found = []
    for texts in documents:
        values = []
        for i, words in enumerate(texts):
            others = [other for j, other in enumerate(texts) if j != i]
            scores = [similarity(words, other, frequency, len(documents)) for other in others]
            values.append(10 * sum(scores) / len(others) if others else math.nan)
        found.append(values)
    return found


def against_corpus(documents: Sequence[Sequence[Words]]) -> list[list[float]]:
    """10 times the mean over n and over all captions of the cosine of tf-idf vectors."""
    frequency = document_frequency(documents)
    every = [words for texts in documents for words in texts]

    def cosine(one: Words, other: Words, n: int) -> float:
        a, b = (vector(words, n, frequency, len(documents)) for words in (one, other))
        if length(a) == 0 or length(b) == 0:
            return 0.0
        return sum(value * b.get(gram, 0.0) for gram, value in a.items()) / (length(a) * length(b))

    return [
        [
            10 * sum(cosine(words, other, n) for other in every for n in (1, 2, 3, 4)) / (4 * len(every))
            for words in texts
        ]
        for texts in documents
    ]


def idf_mass(documents: Sequence[Sequence[Words]]) -> list[list[float]]:
    """The mean idf of a caption's n-grams of all lengths."""
    frequency = document_frequency(documents)
    found = []
    for texts in documents:
        values = []
        for words in texts:
            masses = [
                count * (math.log(len(documents)) - math.log(max(1, frequency[gram])))
                for n in (1, 2, 3, 4)
                for gram, count in grams(words, n).items()
            ]
            number = sum(max(0, len(words) - n + 1) for n in (1, 2, 3, 4))
            values.append(sum(masses) / number if number else 0.0)
        found.append(values)
    return found


def bleu(hypotheses: Mapping[str, str], references: Mapping[str, Sequence[str]]) -> list[float]:
    """BLEU-1 to BLEU-4 of the whole set."""
    correct, guess, own, closest = [0] * 4, [0] * 4, 0, 0
    for name, text in hypotheses.items():
        words, others = text.split(), [other.split() for other in references[name]]
        own += len(words)
        closest += min((abs(len(other) - len(words)), len(other)) for other in others)[1]
        for n in range(4):
            counts = grams(words, n + 1)
            guess[n] += sum(counts.values())
            correct[n] += sum(
                min(count, max(grams(other, n + 1)[gram] for other in others)) for gram, count in counts.items()
            )
    scores = []
    for n in range(4):
        precision = math.prod((correct[k] + 1e-15) / (guess[k] + 1e-9) for k in range(n + 1)) ** (1 / (n + 1))
        ratio = (own + 1e-15) / (closest + 1e-9)
        scores.append(precision * (math.exp(1 - 1 / ratio) if ratio < 1 else 1.0))
    return scores


def common_subsequence(a: Words, b: Words) -> int:
    table = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, one in enumerate(a):
        for j, other in enumerate(b):
            table[i + 1][j + 1] = table[i][j] + 1 if one == other else max(table[i][j + 1], table[i + 1][j])
    return table[-1][-1]


def rouge_l(hypothesis: Words, references: Sequence[Words]) -> float:
    if not hypothesis:
        return 0.0
    common = [common_subsequence(hypothesis, words) for words in references]
    precision = max(n / len(hypothesis) for n in common)
    recall = max((n / len(words) for n, words in zip(common, references, strict=True) if words), default=0.0)
    if precision == 0 or recall == 0:
        return 0.0
    return (1 + 1.2**2) * precision * recall / (recall + 1.2**2 * precision)
