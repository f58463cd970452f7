"""`vtr data`.

May import all of vtr_core.
"""
