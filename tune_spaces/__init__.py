"""Search spaces and how they are searched: schedulers, points, figures.

A system's space lies in its folder and is collected here; only `vtr sweep` and analyses import this.
"""
