"""DiDeMo: described moments of Flickr videos, as paragraphs.

Imported by the list of all sources and by annotated.
"""
