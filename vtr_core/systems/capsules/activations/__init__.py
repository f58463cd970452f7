"""Capsule activation report: each capsule's strongest clips, and the concepts of their captions.

Imported by pipelines.
"""
