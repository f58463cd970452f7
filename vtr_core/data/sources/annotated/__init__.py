"""Published data sets of annotated videos: their lists of videos, and the rows of those with a feature file.

One module a data set reads its annotation files; `captioned_videos` reads all of them by name.
"""
