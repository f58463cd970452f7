"""`vtr sweep`.

May import all of vtr_core and tune_spaces.
"""
