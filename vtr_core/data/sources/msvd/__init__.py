"""MSVD: short videos with many sentences each.

Imported by the list of all sources and by annotated.
"""
