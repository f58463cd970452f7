"""The world of small things: what a frame shows where, what captions name, and that nothing else decides it."""

import numpy as np
import pytest
from pydantic import ValidationError

from vtr_core.data.worlds.described_videos import COLOUR, CONCEPTS, OBJECT, PLACE
from vtr_core.data.worlds.patch_tokens import SyntheticTokenSettings, TokenCamera, token_captions, token_content
from vtr_core.text.tokens.vocabulary import tokenise

WORLD = SyntheticTokenSettings(num_videos=50, seed=3, dim=16, grid=5, frames=6, sides=(1, 2))


def test_the_thing_stays_within_the_frame_moves_by_a_patch_and_is_seen() -> None:
    sides = set()
    for video in range(50):
        content = token_content(WORLD, video)
        sides.add(content.side)
        assert content.corners.shape == (6, 2)
        assert content.corners.min() >= 0
        assert content.corners.max() + content.side <= 5
        assert np.abs(np.diff(content.corners, axis=0)).max() <= 1
        assert any(content.visible)
    assert sides == {1, 2}


def test_captions_name_thing_colour_and_place() -> None:
    for video in range(50):
        content = token_content(WORLD, video)
        told = token_captions(WORLD, video, content)
        assert len(told) == 4
        for caption in told:
            words = set(tokenise(caption))
            for slot in (OBJECT, COLOUR, PLACE):
                assert words & set(CONCEPTS[slot][content.concepts[slot]])


def test_only_the_patches_of_the_thing_differ_from_the_place() -> None:
    clear = WORLD.model_copy(update={"noise": 0.0, "cls_noise": 0.0})
    camera = TokenCamera(clear)
    for video in range(20):
        content = token_content(clear, video)
        tokens = camera.record(video, content).reshape(6, 26, 16)
        for frame in range(6):
            (row, column), expected = content.corners[frame], np.zeros((5, 5), bool)
            if content.visible[frame]:
                expected[row : row + content.side, column : column + content.side] = True
            differs = (tokens[frame, 1:] != tokens[frame, 0]).any(axis=1).reshape(5, 5)
            np.testing.assert_array_equal(differs, expected)


def test_a_trace_of_the_thing_is_in_cls_where_it_is_wanted() -> None:
    still = WORLD.model_copy(update={"noise": 0.0, "cls_noise": 0.0, "text_noise": 0.0, "style": 0.0, "visible": 1.0})
    traced = TokenCamera(still.model_copy(update={"trace": 0.5}))
    for video in range(10):
        content = token_content(still, video)
        without = TokenCamera(still).record(video, content).reshape(6, 26, 16)[0].astype(np.float64)
        with_trace = traced.record(video, content).reshape(6, 26, 16)[0].astype(np.float64)
        row, column = content.corners[0]
        thing = (without[1 + 5 * row + column] - without[0]) / still.gain
        np.testing.assert_allclose(with_trace[0] - without[0], 0.5 * thing, atol=0.02)
        np.testing.assert_allclose(traced.texts(video, content)[0], thing + without[0], atol=0.02)


def test_a_video_is_a_function_of_seed_and_index_alone() -> None:
    larger, other = WORLD.model_copy(update={"num_videos": 10**6}), WORLD.model_copy(update={"seed": 4})
    content = token_content(WORLD, 17)
    for again in (larger, WORLD):
        np.testing.assert_array_equal(
            TokenCamera(WORLD).record(17, content), TokenCamera(again).record(17, token_content(again, 17))
        )
    assert (TokenCamera(other).record(17, content) != TokenCamera(WORLD).record(17, content)).any()


def test_things_larger_than_the_frame_are_refused() -> None:
    for sides in ((6,), ()):
        with pytest.raises(ValidationError, match="must name at least one side, none above grid = 5"):
            SyntheticTokenSettings(grid=5, sides=sides)
