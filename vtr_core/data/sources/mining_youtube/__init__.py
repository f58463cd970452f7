"""Mining YouTube.

Imported by pipelines alone.
"""
