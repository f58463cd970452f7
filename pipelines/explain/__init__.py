"""`vtr explain`.

May import all of vtr_core.
"""
