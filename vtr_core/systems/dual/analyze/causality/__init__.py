"""Which concepts decide, and a transform of their scores by which few do.

Imported by `vtr analyze` alone.
"""
