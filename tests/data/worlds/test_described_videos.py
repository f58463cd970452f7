"""Described videos and patch tokens: what captions name is what frames show, and nothing else decides it."""

import pickle
from collections import Counter

import numpy as np
import pytest

from vtr_core.data.sources.source import Drops
from vtr_core.data.sources.synthetic import SyntheticTokens, SyntheticVideos
from vtr_core.data.worlds.described_videos import (
    ACTION,
    CONCEPTS,
    OBJECT,
    Camera,
    SyntheticVideoSettings,
    descriptions,
    video_content,
)
from vtr_core.text.tokens.vocabulary import tokenise

WORLD = SyntheticVideoSettings(num_videos=200, seed=4, dim=64)
MEANINGS = {
    word: (slot, concept)
    for slot, concepts in enumerate(CONCEPTS)
    for concept, names in enumerate(concepts)
    for word in names
}


def test_a_caption_tells_of_one_scene_and_names_its_action_or_object() -> None:
    for video in range(200):
        content = video_content(WORLD, video)
        captions = descriptions(WORLD, video, content)
        assert len(captions) == 5
        mentions = Counter(MEANINGS[w] for caption in captions for w in set(tokenise(caption)) if w in MEANINGS)
        assert max(mentions.values()) >= 2  # as concept vocabularies need it
        for caption in captions:
            slots = dict(MEANINGS[word] for word in tokenise(caption) if word in MEANINGS)
            assert ACTION in slots or OBJECT in slots
            assert any(all(scene[slot] == concept for slot, concept in slots.items()) for scene in content.concepts)


def test_a_video_is_a_function_of_seed_and_index_alone() -> None:
    larger, other = WORLD.model_copy(update={"num_videos": 10**6}), WORLD.model_copy(update={"seed": 5})
    first, again = video_content(WORLD, 17), video_content(larger, 17)
    assert descriptions(WORLD, 17, first) == descriptions(larger, 17, again)
    assert descriptions(WORLD, 17, first) != descriptions(other, 17, video_content(other, 17))
    np.testing.assert_array_equal(Camera(WORLD).record(17, first), Camera(larger).record(17, again))
    assert (Camera(WORLD).record(17, first) != Camera(WORLD).record(18, first)).any()


@pytest.mark.parametrize(
    ("source", "features"),
    [
        (SyntheticVideos(num_videos=100, dim=16), {"video": 16}),
        (SyntheticTokens(num_videos=100, dim=16), {"video": 17 * 16, "text": 16}),
    ],
    ids=["videos", "tokens"],
)
def test_sources_have_what_they_promise_and_copies_the_same(
    source: SyntheticVideos | SyntheticTokens, features: dict[str, int]
) -> None:
    videos, copy = source.videos(Drops()), pickle.loads(pickle.dumps(source))
    shares = Counter(video.split for video in videos)
    assert (sum(shares.values()), set(shares)) == (100, {"train", "val", "test"})
    assert {feature.name: feature.dim for feature in source.features()} == features
    for entry in videos[:20]:
        video, same = source.video(entry, Drops(strict=True)), copy.video(entry, Drops())
        assert video is not None
        assert same is not None
        assert list(source.captions([entry])) == list(video.captions) == list(same.captions)
        assert {name: rows.shape[1] for name, rows in video.features.items()} == features
        for name, rows in video.features.items():
            np.testing.assert_array_equal(rows, same.features[name])


def test_the_strongest_patch_finds_the_caption_and_cls_does_not() -> None:
    """Among the test videos; what differs from a frame's own mean is the object."""
    source = SyntheticTokens(num_videos=200, dim=16)
    videos = [source.video(video, Drops()) for video in source.videos(Drops()) if video.split == "test"]
    tokens = np.stack([v.features["video"].reshape(2, 17, 16).astype(np.float64) for v in videos if v is not None])
    texts = np.stack([v.features["text"][0].astype(np.float64) for v in videos if v is not None])
    texts -= texts.mean(axis=0)
    patches, own = tokens[:, :, 1:], np.arange(len(videos))
    differences = (patches - patches.mean(axis=2, keepdims=True)).reshape(len(videos), -1, 16)
    strongest = differences[own, np.linalg.norm(differences, axis=2).argmax(axis=1)]

    def recall(queries: np.ndarray) -> float:
        scores = queries @ texts.T / np.linalg.norm(texts, axis=1)
        return float((scores.argmax(axis=1) == own).mean())

    assert recall(strongest) > 0.5
    assert recall(tokens[:, :, 0].mean(axis=1)) < 0.3
