"""`vtr tables`.

May import all of vtr_core; the tables of a system lie in its folder.
"""
