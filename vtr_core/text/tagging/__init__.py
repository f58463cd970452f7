"""Parts of speech and lemmas: taggers of spaCy, TreeTagger, WordNet and NLTK, and the training of one's own.

Imports tokens.
"""
