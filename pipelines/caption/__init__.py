"""`vtr caption`.

May import all of vtr_core.
"""
