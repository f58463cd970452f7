"""The content of data sets: schemas, columns, frames, lists of pairs."""
