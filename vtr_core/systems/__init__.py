"""The systems, one folder each: configuration, presets, model, task, and their own losses, tables and explanations.

A system imports blocks (nn, losses, metrics, text) and no other system. Its interface is in its `system.py`, which
`all.py` alone imports.
"""
