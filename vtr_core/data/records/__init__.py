"""What a data set holds: schemas, columns, frames, lists of pairs.

Imports storage and errors alone; the rest of data builds on it.
"""
