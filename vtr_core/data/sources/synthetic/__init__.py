"""Synthetic data as sources.

Imported by pipelines, tables and tests.
"""
