"""Tasks of the narrated world: steps in order amid background, in the words and features of its clips."""

import numpy as np
import pytest
from pydantic import ValidationError

from vtr_core.data.sources.source import Drops
from vtr_core.data.sources.synthetic import Synthetic, SyntheticSteps
from vtr_core.data.worlds.narrated_videos import (
    ACTION,
    AGENT,
    OBJECT,
    PLACE,
    SLOTS,
    TOOL,
    names,
)
from vtr_core.data.worlds.step_tasks import SyntheticStepSettings, synthetic_step_video, synthetic_task
from vtr_core.text.tokens.vocabulary import Vocabulary, tokenise, word_counts

SETTINGS = SyntheticStepSettings(num_tasks=5, videos_per_task=4, seed=3)


def lexicon(num_concepts: int) -> dict[str, tuple[int, int]]:
    """The meaning of every word: {word: (position of its slot in SLOTS, concept)}."""
    return {
        word: (position, concept)
        for position, slot in enumerate(SLOTS)
        for concept in range(num_concepts)
        for word in names(slot, concept)
    }


def test_a_step_names_its_action_object_and_tool() -> None:
    meanings = lexicon(SETTINGS.num_concepts)
    for index in range(30):
        task = synthetic_task(SETTINGS, index)
        assert SETTINGS.min_steps <= len(task.steps) == len(task.concepts) <= SETTINGS.max_steps
        assert len(set(task.concepts[:, ACTION].tolist())) == len(task.steps)
        for text, content in zip(task.steps, task.concepts, strict=True):
            mentions = {meanings[word] for word in tokenise(text) if word in meanings}
            assert mentions == {(slot, int(content[slot])) for slot in (ACTION, OBJECT, TOOL)}


def test_steps_come_in_order_amid_background() -> None:
    for task, video in ((task, video) for task in range(5) for video in range(4)):
        concepts = synthetic_task(SETTINGS, task).concepts
        made = synthetic_step_video(SETTINGS, task, video)
        steps = [step for step, _, _ in made.spans]
        assert steps == sorted(set(steps)) != []
        for step, first, end in made.spans:
            assert (made.step[first:end] == step).all()
            assert SETTINGS.step_seconds / 3 <= end - first <= SETTINGS.step_seconds
            shown = made.content.concepts[first:end][:, [ACTION, OBJECT, TOOL]]
            assert (shown == concepts[step, [ACTION, OBJECT, TOOL]]).all()
        background = made.content.concepts[made.step < 0]
        assert not np.isin(background[:, ACTION], concepts[:, ACTION]).any()
        assert len(np.unique(made.content.concepts[:, [AGENT, PLACE]], axis=0)) == 1
        assert made.content.end.tolist() == list(range(1, len(made.step) + 1))
        again = synthetic_step_video(SETTINGS, task, video)
        assert (made.content.concepts == again.content.concepts).all()


def test_rows_tell_steps_by_number_in_words_of_the_clips() -> None:
    source = SyntheticSteps(num_tasks=2, videos_per_task=3, seed=1)
    entries = source.videos(Drops())
    assert [entry.video_id for entry in entries][:4] == ["task000_00", "task000_01", "task000_02", "task001_00"]
    texts = [text for task in range(2) for text in synthetic_task(source, task).steps]
    assert list(source.captions(entries)) == texts
    video = source.step_video(entries[4], Drops())
    assert video is not None
    assert (video.task, list(video.steps)) == ("task001", list(synthetic_task(source, 1).steps))
    spans = synthetic_step_video(source, 1, 1).spans
    assert [(s.start, s.end, s.label) for s in video.segments] == [(a, b, str(step + 1)) for step, a, b in spans]
    clips = Synthetic(num_clips=3000)
    known = Vocabulary.from_counts(word_counts(clips.captions(clips.videos(Drops())), "words"))
    assert {word for text in texts for word in tokenise(text)} <= known.ids.keys()


def test_settings_that_cannot_be() -> None:
    with pytest.raises(ValidationError, match="max_steps must be at least min_steps"):
        SyntheticStepSettings(min_steps=4, max_steps=3)
    with pytest.raises(ValidationError, match="max_steps must be at most num_concepts"):
        SyntheticStepSettings(num_concepts=5)
