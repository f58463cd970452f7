"""Films of small shapes: what all have in common, what captions name, and that frames show it."""

import itertools

import numpy as np
import pytest

from vtr_core.data.worlds.films import COLOURS, CROWD_COLOURS, NUM_CAPTIONS, RADIUS, SHAPES, SIZE, crowd, crowd_frames

FILMS = [crowd(3, index) for index in range(60)]


def test_a_film_is_a_function_of_seed_and_index() -> None:
    assert crowd(3, 7) == FILMS[7]
    assert crowd(4, 7) != FILMS[7]


def test_every_film_shows_all_colours_and_all_forms_once() -> None:
    for one in FILMS:
        assert tuple(each.colour for each in one.small) == CROWD_COLOURS
        assert sorted(each.shape for each in one.small) == sorted(SHAPES)
    assert len({tuple(each.shape for each in one.small) for one in FILMS}) > 50


def test_shapes_stay_apart() -> None:
    for one in FILMS:
        for first, second in itertools.combinations(one.small, 2):
            for share in (0.0, 0.5, 1.0):
                assert np.hypot(*np.subtract(first.at(share), second.at(share))) > 2 * RADIUS


def test_a_caption_names_three_of_the_shapes_that_are_there() -> None:
    for one in FILMS:
        phrases = [each.phrase for each in one.small]
        assert len(set(one.captions)) == NUM_CAPTIONS
        for caption in one.captions:
            named = caption.replace(" and ", ", ").split(", ")
            assert len(named) == 3
            assert [phrase for phrase in phrases if phrase in named] == named


@pytest.mark.parametrize("number", range(6))
def test_frames_show_what_is_said(number: int) -> None:
    one = FILMS[number]
    pictures = list(crowd_frames(one))
    for time, picture in pictures:
        share = time / pictures[-1][0]
        for each in one.small:
            rows, columns = np.nonzero((picture == COLOURS[each.colour]).all(axis=2))
            x, y = each.at(share)
            assert len(rows) > 15
            assert (np.hypot(columns / SIZE - x, rows / SIZE - y) <= 1.5 * RADIUS).all()
