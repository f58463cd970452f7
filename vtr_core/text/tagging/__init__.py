"""Parts of speech and lemmas: taggers of spaCy, TreeTagger and WordNet, and the training of one's own.

Imports tokens.
"""
