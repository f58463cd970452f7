"""Parquet files of a data set: writing, checks, reading by page."""
