"""`vtr index`.

May import all of vtr_core.
"""
