"""Described videos and patch tokens: what captions name is what frames show, and nothing else decides it."""

import pickle
from collections import Counter

import numpy as np
import pytest
from pydantic import ValidationError

from vtr_core.data.sources.source import Drops
from vtr_core.data.sources.synthetic import SyntheticTokens, SyntheticVideos
from vtr_core.data.worlds.described_videos import (
    ACTION,
    AGENT,
    COLOUR,
    CONCEPTS,
    LOOK,
    OBJECT,
    PERIOD,
    PLACE,
    Camera,
    SyntheticVideoSettings,
    VideoContent,
    descriptions,
    video_content,
)
from vtr_core.data.worlds.patch_tokens import SyntheticTokenSettings, TokenCamera, token_captions, token_content
from vtr_core.text.tokens.vocabulary import tokenise

WORLD = SyntheticVideoSettings(num_videos=200, seed=4, dim=64)
TOKENS = SyntheticTokenSettings(num_videos=50, seed=3, dim=16, grid=5, frames=6, sides=(1, 2))
MEANINGS = {
    word: (slot, concept)
    for slot, concepts in enumerate(CONCEPTS)
    for concept, names in enumerate(concepts)
    for word in names
}


def test_no_word_names_two_concepts() -> None:
    assert len(MEANINGS) == sum(len(names) for concepts in CONCEPTS for names in concepts)


def test_look_agent_and_place_stay_and_every_scene_is_shown() -> None:
    contents = [video_content(WORLD, video) for video in range(200)]
    for content in contents:
        assert (content.concepts[:, [LOOK, AGENT, PLACE]] == content.concepts[0, [LOOK, AGENT, PLACE]]).all()
        assert np.unique(content.scene).tolist() == list(range(len(content.concepts)))
        assert (np.diff(content.scene) >= 0).all()
    assert {len(content.scene) for content in contents} == set(range(8, 25))
    assert {len(content.concepts) for content in contents} == {1, 2, 3}


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


def test_a_scene_repeats_its_movement_and_another_looks_otherwise() -> None:
    plain = SyntheticVideoSettings(dim=64, noise=0, style=0)
    concepts = np.array([[0, 1, 2, 3, 4, 5], [0, 1, 9, 3, 8, 5]])
    frames = Camera(plain).record(0, VideoContent(concepts, np.repeat([0, 1], 2 * PERIOD))).astype(np.float64)
    assert (frames >= 0).all()
    np.testing.assert_allclose(frames[:PERIOD], frames[PERIOD : 2 * PERIOD], atol=4e-3)
    assert np.abs(frames[1] - frames[0]).mean() > 0.2
    assert np.abs(frames[2 * PERIOD] - frames[0]).mean() > 0.3


def test_ranges_must_not_be_empty() -> None:
    for changes in ({"min_frames": 9, "max_frames": 8}, {"min_scenes": 4}, {"min_frames": 2, "max_scenes": 3}):
        with pytest.raises(ValidationError, match="must be at least"):
            SyntheticVideoSettings(**changes)  # type: ignore[arg-type]
    for sides in ((6,), ()):
        with pytest.raises(ValidationError, match="must name at least one side, none above grid = 5"):
            SyntheticTokenSettings(grid=5, sides=sides)


def test_the_object_moves_by_a_patch_at_most_and_captions_name_it() -> None:
    contents = [token_content(TOKENS, video) for video in range(50)]
    assert {content.side for content in contents} == {1, 2}
    for video, content in enumerate(contents):
        assert content.corners.shape == (6, 2)
        assert content.corners.min() >= 0
        assert content.corners.max() + content.side <= 5
        assert np.abs(np.diff(content.corners, axis=0)).max() <= 1
        assert any(content.visible)
        for caption in token_captions(TOKENS, video, content):
            words = set(tokenise(caption))
            assert all(words & set(CONCEPTS[slot][content.concepts[slot]]) for slot in (OBJECT, COLOUR, PLACE))


def test_only_the_patches_of_the_object_differ_from_the_place() -> None:
    clear = TOKENS.model_copy(update={"noise": 0.0, "cls_noise": 0.0})
    for video in range(20):
        content = token_content(clear, video)
        tokens = TokenCamera(clear).record(video, content).reshape(6, 26, 16)
        for frame, (row, column) in enumerate(content.corners):
            expected = np.zeros((5, 5), bool)
            if content.visible[frame]:
                expected[row : row + content.side, column : column + content.side] = True
            differs = (tokens[frame, 1:] != tokens[frame, 0]).any(axis=1).reshape(5, 5)
            np.testing.assert_array_equal(differs, expected)


def test_a_trace_of_the_object_is_in_cls_where_it_is_set() -> None:
    still = TOKENS.model_copy(update={"noise": 0.0, "cls_noise": 0.0, "text_noise": 0.0, "style": 0.0, "visible": 1.0})
    traced = TokenCamera(still.model_copy(update={"trace": 0.5}))
    for video in range(10):
        content = token_content(still, video)
        without, with_trace = (
            camera.record(video, content).reshape(6, 26, 16)[0].astype(np.float64)
            for camera in (TokenCamera(still), traced)
        )
        row, column = content.corners[0]
        shown = (without[1 + 5 * row + column] - without[0]) / still.gain
        np.testing.assert_allclose(with_trace[0] - without[0], 0.5 * shown, atol=0.02)
        np.testing.assert_allclose(traced.texts(video, content)[0], shown + without[0], atol=0.02)


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
