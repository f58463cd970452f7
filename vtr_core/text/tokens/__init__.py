"""Words of captions: cleaning, vocabulary, stop words, n-grams.

Imports config, errors and fingerprint; words with their part of speech ask a tagger of `tagging`.
"""
