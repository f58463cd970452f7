"""Faces of known people: a folder, LFW, Olivetti.

Imported by pipelines alone, but for one image of a file.
"""
