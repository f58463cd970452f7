"""`vtr verify`.

May import all of vtr_core.
"""
