"""`vtr doctor`.

Imports what it checks only while it checks it.
"""
