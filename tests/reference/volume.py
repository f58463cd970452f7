"""The volume that vectors span, from the Gram determinant of their directions."""

import numpy as np


def volume(*vectors):
    directions = np.array([np.array(v, np.float64) / max(np.linalg.norm(v), 1e-12) for v in vectors])
    return np.sqrt(max(np.linalg.det(directions @ directions.T), 0))
