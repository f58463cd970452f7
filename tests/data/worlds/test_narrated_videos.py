"""Narrated videos: a function of seed and index; narrations and features tell of their clip as often as asked."""

import itertools
import pickle
from collections import Counter

import numpy as np
import pytest
from pydantic import ValidationError

from vtr_core.data.sources.source import Drops
from vtr_core.data.sources.synthetic import Synthetic
from vtr_core.data.worlds import narrated_videos as world_module
from vtr_core.data.worlds.narrated_videos import (
    ACTION,
    AGENT,
    OBJECT,
    PLACE,
    SLOTS,
    TOOL,
    Recorder,
    SyntheticSettings,
    Truth,
    captions,
    indices,
    lexicon,
    names,
    narrate,
    neighbours,
    scenes,
    truth,
)
from vtr_core.text.tokens.vocabulary import Vocabulary, tokenise, word_counts

WORLD = SyntheticSettings(num_clips=1500, seed=5, dim_2d=48, dim_3d=32, dim_audio=16)
SOURCE = Synthetic(num_clips=600, dim_2d=24, dim_3d=16, dim_audio=8)
WORDS = {"agent": "chef", "action": "cut", "object": "onion", "tool": "knife", "place": "kitchen"}


def mentioned(settings: SyntheticSettings, caption: str) -> dict[int, int]:
    meanings = lexicon(settings.num_concepts)
    return dict(meanings[word] for word in tokenise(caption) if word in meanings)


def still(concepts: list[list[int]]) -> Truth:
    """A video whose clips have the given concepts."""
    times = np.arange(len(concepts), dtype=np.float64)
    return Truth(np.array(concepts), times, times + 1)


def test_no_word_names_two_concepts() -> None:
    words = [word for slot in SLOTS for concept in range(5000) for word in names(slot, concept)]
    assert len(set(words)) == len(words) == len(lexicon(5000))
    assert all(tokenise(word) == [word] for word in words[:2000])
    assert names("action", 0) == ("cut", "chop", "slice")


def test_a_sentence_has_its_content_words_and_no_other() -> None:
    rng = np.random.default_rng(0)
    for size in range(1, len(SLOTS) + 1):
        for slots in itertools.combinations(SLOTS, size):
            sentences = [narrate({slot: WORDS[slot] for slot in slots}, rng) for _ in range(20)]
            for sentence in sentences:
                spoken = [word for word in tokenise(sentence) if word in lexicon(40)]
                assert sorted(spoken) == sorted(WORDS[slot] for slot in slots)
    assert len({narrate(WORDS, rng) for _ in range(500)}) > 450
    phrases = [phrase for value in vars(world_module).values() if isinstance(value, tuple) for phrase in value]
    assert not set(tokenise(" ".join(map(str, phrases)))) & set(lexicon(40))


def test_a_video_is_a_function_of_seed_and_index_alone() -> None:
    larger, other = (WORLD.model_copy(update=change) for change in ({"num_clips": 10**7}, {"seed": 6}))
    first, again = truth(WORLD, 17), truth(larger, 17)
    np.testing.assert_array_equal(first.concepts, again.concepts)
    assert captions(WORLD, 17, first) == captions(larger, 17, again) != captions(other, 17, truth(other, 17))
    for clip, same in zip(Recorder(WORLD).record(17, first), Recorder(larger).record(17, again), strict=True):
        assert clip.keys() == same.keys()
        assert all(np.array_equal(clip[name], same[name]) for name in clip)


def test_what_a_video_keeps_and_what_varies() -> None:
    contents = [truth(WORLD, video) for video in range(WORLD.num_videos)]
    lengths = [len(content) for content in contents]
    assert sum(lengths) == pytest.approx(1500, rel=0.06)
    assert set(lengths) == set(range(3, 10))
    share = np.mean([(content.concepts[1:] == content.concepts[0]).mean(axis=0) for content in contents], axis=0)
    assert share[[AGENT, PLACE]].tolist() == [1, 1]
    assert 0.6 < share[TOOL] < 0.9
    assert (share[[ACTION, OBJECT]] < 0.2).all()
    assert all((content.end > content.start).all() for content in contents)
    assert all((content.start[1:] >= content.end[:-1]).all() for content in contents)


def test_concepts_have_a_long_tail() -> None:
    settings = SyntheticSettings(num_clips=60000)
    agents = Counter(int(truth(settings, video).concepts[0, AGENT]) for video in range(settings.num_videos))
    for concept in (0, 1, 9):
        expected = 10000 * (1 / (concept + 1)) / sum(1 / r for r in range(1, 41))
        assert agents[concept] == pytest.approx(expected, rel=0.15)


def test_narrations_tell_of_a_neighbour_as_often_as_asked() -> None:
    settings = SyntheticSettings(num_clips=1800, misalignment=0.3, mention=1.0, num_concepts=1000, zipf=0.0)
    own, neighbour, total = 0, 0, 0
    for video in range(settings.num_videos):
        content = truth(settings, video)
        for clip, caption in enumerate(captions(settings, video, content)):
            action = mentioned(settings, caption)[ACTION]
            own += action == content.concepts[clip, ACTION]
            neighbour += action in content.concepts[neighbours(clip, len(content)), ACTION]
            total += 1
    assert own / total == pytest.approx(0.7, abs=0.035)
    assert neighbour / total == pytest.approx(0.3, abs=0.035)


def test_without_misalignment_slots_are_mentioned_truly_as_often_as_asked_and_never_none() -> None:
    settings, counts, rows = WORLD.model_copy(update={"misalignment": 0.0}), np.zeros(len(SLOTS)), 0
    for video in range(settings.num_videos):
        content = truth(settings, video)
        for concepts, caption in zip(content.concepts, captions(settings, video, content), strict=True):
            slots = mentioned(settings, caption)
            assert slots
            assert all(concepts[slot] == concept for slot, concept in slots.items())
            counts[list(slots)] += 1
            rows += 1
    nothing = (1 - WORLD.mention) ** len(SLOTS)
    np.testing.assert_allclose(counts / rows, WORLD.mention + nothing / len(SLOTS), atol=0.04)


def test_streams_are_unit_vectors_and_show_their_own_slots() -> None:
    plain = WORLD.model_copy(update={"noise": 0.0, "style": 0.0, "missing_audio": 0.0})
    base = [1, 2, 3, 4, 5]
    rows = [base, *([value + (slot == changed) for slot, value in enumerate(base)] for changed in range(5))]
    clips = Recorder(plain).record(0, still(rows))

    def changes(name: str, part: slice = slice(None)) -> set[int]:
        return {slot for slot in range(5) if not np.array_equal(clips[0][name][part], clips[slot + 1][name][part])}

    assert changes("video", slice(48)) == {AGENT, OBJECT, TOOL, PLACE}
    assert changes("video", slice(48, None)) == {AGENT, ACTION, OBJECT}
    assert changes("audio") == {ACTION, TOOL}
    for part in (clips[0]["video"][:48], clips[0]["video"][48:], clips[0]["audio"]):
        assert (part >= 0).all()
        assert np.linalg.norm(part.astype(np.float64)) == pytest.approx(1, abs=2e-3)


def test_audio_is_missing_as_often_as_asked() -> None:
    settings = WORLD.model_copy(update={"missing_audio": 0.3})
    recorder = Recorder(settings)
    clips = [clip for video in range(300) for clip in recorder.record(video, truth(settings, video))]
    assert np.mean(["audio" not in clip for clip in clips]) == pytest.approx(0.3, abs=0.04)


def test_a_scene_decides_what_concepts_look_like() -> None:
    settings = WORLD.model_copy(update={"noise": 0.0, "style": 0.0, "missing_audio": 0.0, "scenes": 4})
    content, other, recorder = still([[0, 1, 2, 3, 4]]), still([[0, 1, 2, 3, 5]]), Recorder(settings)
    drawn = [scenes(settings, video, content) for video in range(40)]
    looks = [recorder.record(video, content)[0]["video"] for video in range(40)]
    assert {int(scene[0]) for scene in drawn if scene is not None} == {0, 1, 2, 3}
    for scene, look in zip(drawn, looks, strict=True):
        assert np.array_equal(look, looks[0]) == (scene == drawn[0])
    assert not np.array_equal(recorder.record(0, other)[0]["video"], looks[0])
    assert scenes(WORLD, 3, content) is None
    by_place = scenes(
        settings.model_copy(update={"named_scenes": True}), 7, still([[0, 1, 2, 3, p] for p in (0, 3, 9)])
    )
    assert by_place is not None
    assert by_place.tolist() == [0, 3, 1]


@pytest.mark.parametrize(
    "changes",
    [
        {"misalignment": 1.0},
        {"mention": 0.0},
        {"noise": -1},
        {"min_clips": 9, "max_clips": 3},
        {"clips": 10},
        {"named_scenes": True},
    ],
)
def test_settings_that_make_no_world_are_errors(changes: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SyntheticSettings(**changes)  # type: ignore[arg-type]


def test_the_source_has_what_it_promises_and_a_copy_the_same() -> None:
    videos, copy = SOURCE.videos(Drops()), pickle.loads(pickle.dumps(SOURCE))
    shares = Counter(video.split for video in videos)
    assert (sum(shares.values()), set(shares)) == (100, {"train", "val", "test"})
    assert shares["train"] > 65
    assert [(feature.name, feature.dim) for feature in SOURCE.features()] == [("video", 40), ("audio", 8)]
    for video in videos[:20]:
        clips = list(SOURCE.clips(video, Drops(strict=True)))
        assert [indices(clip.clip_id) for clip in clips] == [(video.content, place) for place in range(len(clips))]
        assert list(SOURCE.captions([video])) == [clip.caption for clip in clips]
        for clip, same in zip(clips, copy.clips(video, Drops()), strict=True):
            assert {name: len(vector) for name, vector in clip.features.items()}.items() <= {
                "video": 40,
                "audio": 8,
            }.items()
            assert all(np.array_equal(clip.features[name], same.features[name]) for name in clip.features)


def test_the_world_can_be_learned() -> None:
    """Ridge regression from words to features finds a narration's clip far more often than chance, and not always."""
    source = Synthetic(num_clips=3000)
    clips = {split: [] for split in ("train", "val", "test")}
    for video in source.videos(Drops()):
        clips[video.split] += source.clips(video, Drops())
    vocabulary = Vocabulary.from_counts(word_counts((clip.caption for clip in clips["train"]), "words"))

    def arrays(split: str) -> tuple[np.ndarray, np.ndarray]:
        words = np.zeros((len(clips[split]), len(vocabulary) + 1))
        for row, clip in zip(words, clips[split], strict=True):
            row[vocabulary.encode(clip.caption, 50)] = 1
        return words[:, 1:], np.stack([clip.features["video"] for clip in clips[split]]).astype(np.float64)

    (words, features), (test_words, test_features) = arrays("train"), arrays("test")
    mean = features.mean(axis=0)
    weights = np.linalg.solve(words.T @ words + 10 * np.eye(words.shape[1]), words.T @ (features - mean))
    centred = test_features - mean
    scores = (test_words @ weights) @ (centred / np.linalg.norm(centred, axis=1, keepdims=True)).T
    recall = ((scores > np.diag(scores)[:, None]).sum(axis=1) < 10).mean()
    assert 10 / len(scores) * 5 < recall < 0.9
