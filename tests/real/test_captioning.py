"""The captions of MSVD and MSR-VTT: information content and CIDEr-D on what people really wrote."""

import numpy as np
import pytest

from tests.optional import optional
from tests.reference import captioning as plain
from vtr_core.data.captions import information_table, training_captions
from vtr_core.data.shards.shard_file import caption_key
from vtr_core.metrics.captioning import cider
from vtr_core.text.statistics import information
from vtr_core.text.tokens.vocabulary import tokenise

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


def words(captions):
    return {word for caption in captions for word in tokenise(caption)}


def test_captions_that_nobody_else_wrote_have_more_words_than_common_ones(shared_data):
    """Of the lowest tenth by leave-one-out CIDEr against the highest."""
    videos = msvd(shared_data)[:400]
    table = information_table(videos, "leave_one_out")
    captions = np.array([caption for video in videos for caption in video.captions])
    video_key = np.repeat([video.video_key for video in videos], [len(video.captions) for video in videos])
    values = table.of_captions(video_key, np.array([caption_key(caption) for caption in captions]))
    ranked, tenth = captions[np.argsort(values, kind="stable")], len(captions) // 10
    assert len(words(ranked[:tenth])) > 3 * len(words(ranked[-tenth:]))


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
