"""Published data sets of annotated videos: their lists of videos, and the rows of those with a feature file.

Each data set's folder reads its annotation files; clip and videos read all of them by name.
"""
