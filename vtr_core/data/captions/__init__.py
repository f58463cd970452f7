"""The captions of a data set or of a corpus, and their information content.

Imports reading and text.
"""
