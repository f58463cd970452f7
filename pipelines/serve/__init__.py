"""`vtr serve`.

May import all of vtr_core.
"""
