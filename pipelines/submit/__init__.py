"""`vtr submit`.

May import cluster; knows nothing of training.
"""
