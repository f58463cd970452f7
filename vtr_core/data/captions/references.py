"""All captions of every clip of a data set, which captions that are generated in training are compared with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from vtr_core.data.manifest import Manifest
from vtr_core.data.plan.plan import row_groups
from vtr_core.data.reading.row_groups import RowGroupReader
from vtr_core.data.records.schema import FrameSchema
from vtr_core.text.statistics.consensus import consensus, weighted
from vtr_core.text.statistics.rarity import Rarity, rarity
from vtr_core.text.tokens.ngrams import ngrams
from vtr_core.text.tokens.vocabulary import Vocabulary, words_of

Words = Sequence[int]
"""A caption as ids of a vocabulary's words; words that it lacks have negative ids."""


@dataclass(frozen=True)
class ReferenceTable:
    """The captions of clips by the clips' keys, and the rarity of their n-grams, with a clip as a document."""

    captions: Mapping[int, Sequence[Words]]
    rarity: Rarity

    def ciders(
        self, clip_key: Int64[np.ndarray, " clips"], told: Sequence[Sequence[Words]]
    ) -> Float64[np.ndarray, "clips captions"]:
        """CIDEr-D of captions of clips, equally many for each, against all captions of their clip; see `consensus`.

        0 for a clip without captions.
        """
        count = len(told[0])
        hypotheses = [words for one in told for words in one]
        references = [self.captions.get(key, ()) for key in clip_key.tolist()]
        clips = np.arange(len(told))
        document = np.concatenate([clips.repeat(count), clips.repeat([len(one) for one in references])])
        grams = ngrams([*hypotheses, *(words for one in references for words in one)])
        is_hypothesis = np.arange(len(document)) < len(hypotheses)
        vectors = weighted(grams, self.rarity.of(grams))
        found = consensus(vectors, document, is_hypothesis, ~is_hypothesis)[: len(hypotheses)]
        return np.nan_to_num(found).reshape(len(told), count)


def reference_table(captions: Mapping[int, Sequence[Words]]) -> ReferenceTable:
    """The table of captions by clip key."""
    document = np.arange(len(captions)).repeat([len(one) for one in captions.values()])
    return ReferenceTable(captions, rarity([words for one in captions.values() for words in one], document))


def training_references(manifest: Manifest, vocabulary: Vocabulary) -> ReferenceTable:
    """The table of a `videos` data set, where a clip is a video, or of a `frames` data set."""
    key = "clip_key" if isinstance(manifest.schema, FrameSchema) else "video_key"
    reader = RowGroupReader(manifest, [key, "captions"])
    ids, captions = dict(vocabulary.ids), dict[int, list[Words]]()
    for place in row_groups(manifest):
        columns = reader.read_arrow(place)
        for clip, texts in zip(columns[key].to_pylist(), columns["captions"].to_pylist(), strict=True):
            cut = [words_of(text, vocabulary.tokenizer) for text in texts]
            captions[clip] = [[ids.setdefault(word, -1 - len(ids)) for word in words] for words in cut]
    return reference_table(captions)
