"""A selective scan one channel, state and step at a time; autograd through it gives the gradients."""

import math

import torch


def selective_scan(u, delta, A, B, C, D=None, z=None, delta_bias=None, delta_softplus=False):
    batch, dim, length = u.shape
    rows = []
    for row in range(batch):
        channels = []
        for channel in range(dim):
            state, steps = torch.zeros(A.shape[1], dtype=u.dtype), []
            for t in range(length):
                step = delta[row, channel, t]
                if delta_bias is not None:
                    step = step + delta_bias[channel]
                if delta_softplus:
                    step = torch.log1p(torch.exp(step)) if step < 30 else step
                b, c = B[row, :, t], C[row, :, t]
                state = torch.exp(step * A[channel]) * state + step * b * u[row, channel, t]
                y = (c * state).sum()
                if D is not None:
                    y = y + D[channel] * u[row, channel, t]
                if z is not None:
                    y = y * z[row, channel, t] / (1 + math.e ** (-z[row, channel, t]))
                steps.append(y)
            channels.append(torch.stack(steps) if steps else u.new_zeros(0))
        rows.append(torch.stack(channels))
    return torch.stack(rows)
