"""Structures in plain Python with parts that can be forbidden, for tests."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import linear_sum_assignment


class Matching:
    """Rows to columns, one to one; x is a table of features. It only knows the best matching."""

    n_features = 3

    def outputs(self, x):
        return list(itertools.permutations(range(len(x))))

    def joint_feature(self, x, y):
        return x[np.arange(len(y)), list(y)].sum(axis=0)

    def cost(self, y, y_true):
        return float(sum(a != b for a, b in zip(y, y_true, strict=True)))

    def table(self, x, w, y_true, score_scale, cost_scale):
        values = score_scale * (x @ w)
        if y_true is not None:
            values += cost_scale
            values[np.arange(len(x)), list(y_true)] -= cost_scale
        return values

    def maximize(self, x, w, y_true, score_scale, cost_scale):
        values = self.table(x, w, y_true, score_scale, cost_scale)
        return tuple(linear_sum_assignment(values, maximize=True)[1].tolist())


class BranchingMatching(Matching):
    """Its parts are pairs of row and column, to forbid and to require."""

    def parts(self, y):
        return enumerate(y)

    def maximize(self, x, w, y_true, score_scale, cost_scale, forbid=(), require=()):
        values = self.table(x, w, y_true, score_scale, cost_scale)
        for row, column in require:
            kept = values[row, column]
            values[row, :] = values[:, column] = -np.inf
            values[row, column] = kept
        for pair in forbid:
            values[pair] = -np.inf
        try:
            return tuple(linear_sum_assignment(values, maximize=True)[1].tolist())
        except ValueError:  # nothing is left
            return None


class ForbiddingMatching(BranchingMatching):
    """Its parts can be forbidden, but not required."""

    def maximize(self, x, w, y_true, score_scale, cost_scale, forbid=()):
        return super().maximize(x, w, y_true, score_scale, cost_scale, forbid)


class WholeMatching(Matching):
    """An output is its own only part: outputs are forbidden one by one."""

    def parts(self, y):
        return [y]

    def maximize(self, x, w, y_true, score_scale, cost_scale, forbid=()):
        def value(y):
            price = 0.0 if y_true is None else self.cost(y, y_true)
            return score_scale * (w @ self.joint_feature(x, y)) + cost_scale * price

        return max((y for y in self.outputs(x) if y not in forbid), key=value, default=None)


class Picking:
    """Which of the columns of x to take: parts of one output may be among those of another."""

    n_features = 3

    def outputs(self, x):
        columns = range(x.shape[1])
        return [y for k in range(len(columns) + 1) for y in itertools.combinations(columns, k)]

    def joint_feature(self, x, y):
        return x[:, list(y)].sum(axis=1)

    def cost(self, y, y_true):
        return float(len(set(y) ^ set(y_true))) ** 0.5

    def parts(self, y):
        return y

    def maximize(self, x, w, y_true, score_scale, cost_scale, forbid=(), require=()):
        def value(y):
            price = 0.0 if y_true is None else self.cost(y, y_true)
            return score_scale * (w @ self.joint_feature(x, y)) + cost_scale * price

        left = [y for y in self.outputs(x) if set(require) <= set(y) and not set(forbid) & set(y)]
        return max(left, key=value, default=None)


def matchings(n, size, seed, noise=0.5):
    """Return inputs and the matchings of a noisy truth."""
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(size, size, 3)) for _ in range(n)]
    Y = []
    for x in X:
        values = x @ np.array([1.0, -0.5, 0.3]) + noise * rng.normal(size=(size, size))
        Y.append(tuple(linear_sum_assignment(values, maximize=True)[1].tolist()))
    return X, Y
