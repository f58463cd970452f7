"""Words of captions: cleaning, vocabulary, stop words, n-grams.

Imports errors and fingerprint alone.
"""
