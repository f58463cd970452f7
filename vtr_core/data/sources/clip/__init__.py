"""Tokens and frames of CLIP: files of features, images seen by a backbone.

Imported by pipelines alone.
"""
