"""From raw files to the tensors of a batch, in packages that build on each other.

Imports config, storage and text; knows neither models nor training.
"""
