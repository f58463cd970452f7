"""Data from raw files to batch tensors, in packages that build on each other."""
