"""The captions of a data set or of a corpus, and how much they tell.

Imports reading and text.
"""
