"""Concept vocabularies, soft labels and overlap, written out from their definitions."""

PART_NAMES = {"NOUN": "noun", "PROPN": "noun", "VERB": "verb", "ADJ": "adjective", "ADV": "adverb"}


def kept(videos, stop_words, parts, pos, min_captions):
    """Of each video (a list of captions, each a list of (text, lemma, tag)) a dict {concept: captions that name it}."""
    result = []
    for captions in videos:
        counts = {}
        for caption in captions:
            named = []
            for text, lemma, tag in caption:
                if PART_NAMES.get(tag) not in parts:
                    continue
                if text in stop_words or lemma in stop_words:
                    continue
                name = lemma + "/" + PART_NAMES[tag] if pos else lemma
                if name not in named:
                    named.append(name)
            for name in named:
                counts[name] = counts.get(name, 0) + 1
        result.append({name: count for name, count in counts.items() if count >= min_captions})
    return result


def vocabulary(kept_of_videos, size):
    """The `size` concepts with the largest sums; of equal ones the one that comes first."""
    names, sums = [], []
    for counts in kept_of_videos:
        for name, count in counts.items():
            if name not in names:
                names.append(name)
                sums.append(0)
            sums[names.index(name)] += count
    chosen = []
    while len(chosen) < size:
        best = None
        for i in range(len(names)):
            if names[i] not in chosen and (best is None or sums[i] > sums[best]):
                best = i
        chosen.append(names[best])
    return chosen


def labels(counts, chosen):
    """The soft labels of one video."""
    if not counts:
        return [0.0 for _ in chosen]
    return [counts.get(name, 0) / max(counts.values()) for name in chosen]


def overlap(captions_of_videos):
    """Σ over distinct captions of (videos that carry it − 1), over all captions."""
    every = [caption for captions in captions_of_videos for caption in captions]
    surplus = 0
    for caption in set(every):
        surplus += sum(1 for captions in captions_of_videos if caption in captions) - 1
    return surplus / len(every)
