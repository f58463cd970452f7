"""`vtr import`.

May import all of vtr_core.
"""
