"""The captions of MSVD and MSR-VTT: information, CIDEr-D, overlap, words, concepts; the shipped tagger."""

import json
from collections import Counter

import numpy as np
import pytest

from tests.optional import optional
from tests.reference import captioning as plain
from vtr_core.data.captions import training_captions
from vtr_core.data.sources.published_captions import read_msrvtt
from vtr_core.data.sources.source import Drops
from vtr_core.metrics.captioning import cider
from vtr_core.text.concepts import ConceptSettings, caption_concepts, frequencies, kept_counts, ranked
from vtr_core.text.statistics import caption_overlap, information
from vtr_core.text.tagging.spacy_tagger import SHIPPED, shipped_tagger
from vtr_core.text.tagging.treebank import read_conllu, treebank_accuracy, treebank_file
from vtr_core.text.tokens.vocabulary import clean_words, tokenise

pytestmark = pytest.mark.real


def msvd(shared_data):
    folder = shared_data / "msvd"
    return training_captions(str(folder / "captions_msvd.json"), str(folder / "train_list.txt"))


def test_only_the_training_videos_are_read(shared_data):
    videos = msvd(shared_data)
    assert len(videos) == 1200
    assert len(training_captions(str(shared_data / "msrvtt" / "annotations"))) == 6513
    assert sum(len(video.captions) for video in videos) > 40_000


def test_leave_one_out_is_that_of_slow_code(shared_data):
    documents = [[tokenise(text) for text in video.captions[:12]] for video in msvd(shared_data)[:25]]
    captions = [caption for texts in documents for caption in texts]
    document = np.repeat(np.arange(len(documents)), [len(texts) for texts in documents])
    expected = [value for values in plain.leave_one_out(documents) for value in values]
    assert information(captions, document, "leave_one_out") == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_cider_of_real_captions_is_pycocoevalcap_s(shared_data):
    peer = optional("pycocoevalcap.cider.cider", "captioning")
    videos = training_captions(str(shared_data / "msrvtt" / "annotations"))[:300]
    texts = {video.video_id: [" ".join(tokenise(text)) for text in video.captions] for video in videos}
    hypotheses = {name: own[0] for name, own in texts.items()}
    references = {name: own[1:] for name, own in texts.items()}
    mean, by_id = peer.Cider().compute_score(references, {name: [text] for name, text in hypotheses.items()})
    found = cider(hypotheses, references)
    assert found.mean == pytest.approx(mean, rel=1e-12)
    assert list(found.by_id.values()) == pytest.approx(by_id, rel=1e-12)


@pytest.fixture(scope="module")
def captions(shared_data):
    """{split: the captions of each video}"""
    videos = read_msrvtt(str(shared_data / "msrvtt" / "annotations"), "official", Drops())
    return {name: [v.captions for v in videos if v.split == name] for name in ("train", "val", "test")}


def test_overlap_is_that_of_the_literature(captions):
    shares = {name: round(100 * caption_overlap(videos).share, 2) for name, videos in captions.items()}
    assert shares == {"train": 8.11, "val": 3.88, "test": 6.63}


def test_words_of_the_official_training_split(captions):
    counts = Counter(word for video in captions["train"] for caption in video for word in clean_words(caption))
    assert len(counts) == 22_686
    assert sum(count >= 5 for count in counts.values()) == 7_807


def test_the_shipped_tagger_is_as_good_as_it_says(shared_data):
    measured = treebank_accuracy(
        shipped_tagger(), read_conllu(treebank_file(str(shared_data / "ud_english_ewt"), "test"))
    )
    stated = json.loads((SHIPPED / "meta.json").read_text())["performance"]
    assert measured.sentences.tags == pytest.approx(stated["sentences"]["tags"], abs=1e-3)
    assert measured.sentences.tags >= 0.93
    assert measured.sentences.lemmas >= 0.94
    assert measured.captions.concepts == pytest.approx(stated["captions"]["concepts"], abs=1e-3)


def test_concepts_of_a_part_of_the_training_split(captions):
    tagger = shipped_tagger()
    kept = []
    for video in captions["train"][:150]:
        tagged = tagger.tag(clean_words(caption) for caption in video)
        kept.append(kept_counts([caption_concepts(caption, ConceptSettings()) for caption in tagged], 2))
    total = frequencies(kept)
    names = ranked(total)
    assert len(names) > 512
    assert {"man", "woman", "talk", "play", "person", "girl", "game", "video"} <= set(names[:25])
    assert not {"the", "is", "be", "men", "women", "playing", "talking"} & set(names[:512])
