"""Explanations of retrieved videos: tags, contributions, the HTML page.

Imports search.
"""
