"""Distributed training for video-text retrieval: the library behind the `vtr` commands.

Imports run one way, from config and storage up to train and retrieval; pyproject.toml has the contract.
"""

__version__ = "0.1.0"
