"""Principal components and canonical correlations straight from covariance matrices."""

import numpy as np
from scipy.linalg import eigh, inv


def covariance(a, b):
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    return a.T @ b / (len(a) - 1)


def principal_variances(samples):
    return np.sort(np.linalg.eigvalsh(covariance(samples, samples)))[::-1]


def projected_cosines(text, video, samples, kept):
    values, vectors = np.linalg.eigh(covariance(samples, samples))
    directions = vectors[:, np.argsort(values)[::-1][:kept]]
    a, b = text @ directions, video @ directions
    return np.array([[x @ y / (np.linalg.norm(x) * np.linalg.norm(y)) for y in b] for x in a])


def canonical_pairs(first, second, ridge):
    """Directions and the correlations of their projections, by the generalised eigenvalue problem."""
    s11, s22, s12 = covariance(first, first), covariance(second, second), covariance(first, second)
    s11 = s11 + ridge * np.trace(s11) / len(s11) * np.eye(len(s11))
    s22 = s22 + ridge * np.trace(s22) / len(s22) * np.eye(len(s22))
    values, u = eigh(s12 @ inv(s22) @ s12.T, s11)
    u = u[:, np.argsort(values)[::-1]][:, : min(len(s11), len(s22))]
    w = inv(s22) @ s12.T @ u
    pairs = [np.corrcoef(first @ u[:, i], second @ w[:, i])[0, 1] for i in range(u.shape[1])]
    return u, w, np.array(pairs)
