"""Statistics of captions: consensus, information content, overlap between videos.

Imports tokens.
"""
