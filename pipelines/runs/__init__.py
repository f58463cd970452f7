"""`vtr runs`.

May import all of vtr_core.
"""
