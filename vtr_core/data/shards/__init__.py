"""Parquet files of a data set: writing, checks, reading by page.

Imports records; independent of plans and Ray.
"""
