"""Distributed training for video-text retrieval: the library behind the `vtr` commands."""

__version__ = "0.1.0"
