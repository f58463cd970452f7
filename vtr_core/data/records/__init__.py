"""The content of data sets: schemas, columns, frames, lists of pairs.

Imports storage and errors only; the rest of data builds on it.
"""
