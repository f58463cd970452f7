"""The systems, one folder each: configuration, presets, model, task, and what else only it has.

A system imports blocks (nn, losses, metrics, text) and no other system; what it offers is in its `system.py`, which
`all.py` alone imports.
"""
