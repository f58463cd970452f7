"""Siamese networks of faces, capsules among them.

Imported by run; its commands and tables by pipelines.
"""
