"""Distributed training for video-text retrieval: the library behind the `vtr` commands."""
