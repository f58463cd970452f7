"""Parts of speech and lemmas: taggers of spaCy, TreeTagger and WordNet, and their accuracy.

Imports tokens.
"""
