"""ActivityNet Captions: timed sentences of long videos, as paragraphs.

Imported by the list of all sources and by annotated.
"""
