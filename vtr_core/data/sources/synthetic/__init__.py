"""The synthetic worlds as sources.

Imported by pipelines, tables and tests.
"""
