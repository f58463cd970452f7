"""`vtr analyze`.

May import all of vtr_core.
"""
