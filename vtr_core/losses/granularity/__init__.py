"""The granularity bias of captions, used as the margin of a contrastive loss.

Imports nn and config; systems add it to their own loss.
"""
