"""Behaviour when a shard cannot be read."""

from typing import Literal

OnBadShard = Literal["fail", "skip"]
