"""Films with small shapes: where they are, what captions name, and that frames show what captions say."""

import numpy as np
import pytest

from vtr_core.data.worlds.corners import CORNERS, RADIUS, CornerFilm, corner_film, corner_frames
from vtr_core.data.worlds.shapes import COLOURS, SIZE, film

FILMS = [corner_film(3, index, 3) for index in range(60)]


def test_a_film_is_a_function_of_seed_index_and_number() -> None:
    assert corner_film(3, 7, 3) == FILMS[7]
    assert corner_film(4, 7, 3) != FILMS[7]
    assert FILMS[7].film == film(3, 7)


def test_small_shapes_have_corners_and_colours_of_their_own() -> None:
    for one in FILMS:
        assert len({each.corner for each in one.small}) == 3
        assert len({one.film.colour, *(each.colour for each in one.small)}) == 4
        for each in one.small:
            end = np.array(CORNERS[each.corner])
            assert (abs(np.array([each.x, each.y]) - end) < 0.45).all()
    assert {each.corner for one in FILMS for each in one.small} == set(CORNERS)


def test_captions_name_every_two_of_them_and_not_the_large_one() -> None:
    for one in FILMS:
        first, second, third = (each.phrase for each in one.small)
        assert one.captions == (f"{first} and {second}", f"{first} and {third}", f"{second} and {third}")
        assert not any(one.film.colour in caption for caption in one.captions)
    assert corner_film(3, 0, 1).captions == (corner_film(3, 0, 1).small[0].phrase,)


@pytest.mark.parametrize("number", range(6))
def test_frames_show_them_in_front_of_the_large_shape(number: int) -> None:
    one: CornerFilm = FILMS[number]
    for _, picture in corner_frames(one):
        for each in one.small:
            rows, columns = np.nonzero((picture == COLOURS[each.colour]).all(axis=2))
            across, down = columns / SIZE - each.x, rows / SIZE - each.y
            assert len(rows) > 15
            assert (np.hypot(across, down) <= 1.5 * RADIUS).all()
