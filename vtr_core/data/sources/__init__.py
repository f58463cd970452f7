"""Adapters for raw data, a folder or a file for each family; what they share lies in files and features.

Imports records; pipelines choose one, ingest reads it.
"""
