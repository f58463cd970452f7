"""`vtr demo`.

Runs other stages.
"""
