"""LSMDC: clips of films with a sentence of their audio description.

Imported by the list of all sources and by annotated.
"""
