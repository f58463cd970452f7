"""`vtr export`.

May import all of vtr_core.
"""
