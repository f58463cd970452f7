"""Ranking in the spaces of a dual encoder, in tiles of captions and videos, by one worker or several."""
