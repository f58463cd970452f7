"""Films of small shapes: what all have in common, what captions name, and that frames show it."""

import itertools

import numpy as np

from benchmarks.crowds import CROWD_COLOURS, NUM_CAPTIONS, RADIUS, crowd, crowd_frames
from vtr_core.data.worlds.films import COLOURS, SHAPES, SIZE

FILMS = [crowd(3, index) for index in range(60)]


def test_every_film_has_all_colours_and_forms_apart_and_captions_of_three() -> None:
    assert crowd(3, 7) == FILMS[7] != crowd(4, 7)
    assert len({tuple(shape.shape for shape in film.small) for film in FILMS}) > 50
    for film in FILMS:
        assert tuple(shape.colour for shape in film.small) == CROWD_COLOURS
        assert sorted(shape.shape for shape in film.small) == sorted(SHAPES)
        for first, second in itertools.combinations(film.small, 2):
            for share in (0.0, 0.5, 1.0):
                assert np.hypot(*np.subtract(first.at(share), second.at(share))) > 2 * RADIUS
        assert len(set(film.captions)) == NUM_CAPTIONS
        for caption in film.captions:
            phrases = caption.replace(" and ", ", ").split(", ")
            assert len(phrases) == 3
            assert [shape.phrase for shape in film.small if shape.phrase in phrases] == phrases


def test_frames_show_the_shapes_where_they_are() -> None:
    for film in FILMS[:6]:
        pictures = list(crowd_frames(film))
        for time, picture in pictures:
            share = time / pictures[-1][0]
            for shape in film.small:
                rows, columns = np.nonzero((picture == COLOURS[shape.colour]).all(axis=2))
                x, y = shape.at(share)
                assert len(rows) > 15
                assert (np.hypot(columns / SIZE - x, rows / SIZE - y) <= 1.5 * RADIUS).all()
