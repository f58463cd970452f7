"""`vtr concepts`.

May import all of vtr_core.
"""
