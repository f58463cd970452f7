"""Parquet files of a data set: writing, checking, reading one, page by page.

Imports records; knows neither plans nor Ray.
"""
