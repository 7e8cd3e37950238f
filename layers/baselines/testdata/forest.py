"""Writes forest.json: what scikit-learn's extremely randomized trees say of problems that forest_test.go draws too, and
trees that a second grower grows from the random numbers of Go's math/rand/v2.

    pip install numpy scipy scikit-learn
    python forest.py > forest.json
"""
import json
import math
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import scipy
import sklearn
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax, logsumexp
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.ensemble._forest import _generate_sample_indices

WORD = (1 << 64) - 1


class PCG:
    """Go's rand.New(rand.NewPCG(seed, stream))."""

    def __init__(self, seed, stream):
        self.state = seed << 64 | stream

    def uint64(self):
        self.state = (self.state * 0x2360ED051FC65DA44385DF649FCCF645 + 0x5851F42D4C957F2D14057B7EF767814F) & ((1 << 128) - 1)
        hi, lo = self.state >> 64, self.state & WORD
        hi ^= hi >> 32
        hi = hi * 0xDA942042E4DD58B5 & WORD
        hi ^= hi >> 48
        return hi * (lo | 1) & WORD

    def below(self, n):  # IntN
        if n & (n - 1) == 0:
            return (self.uint64() & 0xFFFFFFFF) & (n - 1)
        product = (self.uint64() >> 32) * n
        while product & 0xFFFFFFFF < (1 << 32) % n:
            product = (self.uint64() >> 32) * n
        return product >> 32

    def uniform(self):  # Float64
        return (self.uint64() << 11 & WORD) / 2**64


def problem(k):
    """Rows of problem k, as draw in forest_test.go draws them: X = [z, l] in single precision, log-probabilities, labels."""
    rng = PCG(k, 7)
    n, c, m = 150 + 40 * (k % 5), 2 + k % 4, 3 + 3 * (k % 6)
    X, L, y = np.zeros((n, m)), np.zeros((n, c)), np.zeros(n, int)
    for i in range(n):
        y[i] = min(rng.below(c), rng.below(c)) if k % 3 == 0 else rng.below(c)
        for j in range(m):
            v = rng.uniform() + rng.uniform() + rng.uniform() - 1.5
            if j % (c + 1) == y[i]:
                v += (1 + k % 3) / 4
            X[i, j] = math.floor(3 * v) if j > 0 and j % 3 == k % 3 else v
        for j in range(c):
            L[i, j] = 4 * rng.uniform() + (2 if j == y[i] else 0)
    return X, log_softmax(L, 1), y


def seen(X, L):
    """X less the middle of each column's range, and l, as trees see them."""
    return np.hstack([X - (X.min(0) + X.max(0)) / 2, L]).astype(np.float32)


def law(k, seeds=range(12), trees=100):
    """Means and standard deviations over seeds of scikit-learn's forests."""
    X, L, y = problem(k)
    Z, n, c = seen(X, L), len(y), L.shape[1]
    assert len(np.unique(Z, axis=0)) == n  # bags of rows are bags of groups
    at = np.arange(n)
    beta = math.exp(minimize_scalar(lambda u: -log_softmax(math.exp(u) * L, 1)[at, y].mean(), bounds=(-7, 7), method="bounded", options={"xatol": 1e-9}).x)
    found = []
    for seed in seeds:
        forest = ExtraTreesClassifier(trees, criterion="gini", min_samples_leaf=1, max_features="sqrt", bootstrap=True, random_state=seed).fit(Z, y)
        votes, count = np.zeros((n, c)), np.zeros(n)
        for tree in forest.estimators_:
            out = np.ones(n, bool)
            out[_generate_sample_indices(tree.random_state, n, n, None)] = False
            votes[out] += tree.predict_proba(Z[out])
            count += out
        q = np.log((50 * np.where(count[:, None] > 0, votes / np.maximum(count, 1)[:, None], 1 / c) + 1 / c) / 51)
        members = np.array([log_softmax(beta * L, 1), q])

        def loss(w):
            s = np.tensordot(w, members, 1)
            p = np.exp(s - logsumexp(s, 1, keepdims=True))
            return -np.log(p[at, y]).mean(), np.array([((p * l).sum(1) - l[at, y]).mean() for l in members])

        fit = minimize(loss, [0.5, 0.5], jac=True, method="L-BFGS-B", bounds=[(0, None)] * 2, options={"ftol": 1e-12, "gtol": 1e-8})
        found.append([np.mean([t.get_n_leaves() for t in forest.estimators_]), np.mean([t.get_depth() for t in forest.estimators_]), -q[at, y].mean(), fit.fun, *fit.x])
    return {"mean": np.mean(found, 0).tolist(), "sd": np.std(found, 0, ddof=1).tolist()}


def voting():
    """Five trees of scikit-learn, as columns, thresholds and children, and the mean of their leaves' shares."""
    X, L, y = problem(3)
    Z = seen(X, L)
    Z[40:60] = Z[20:40]  # some leaves are of two classes
    forest = ExtraTreesClassifier(5, max_features="sqrt", bootstrap=True, random_state=1).fit(Z, y)
    trees = [{"column": t.feature.tolist(), "threshold": t.threshold.tolist(), "left": t.children_left.tolist(), "right": t.children_right.tolist(),
              "value": t.value[:, 0].tolist()} for t in (e.tree_ for e in forest.estimators_)]
    return {"x": Z.astype(float).tolist(), "trees": trees, "f": np.mean([e.predict_proba(Z) for e in forest.estimators_], 0).tolist()}


def grown(k, seed, tree, weights):
    """The columns (a leaf as -1 - class) and thresholds of a tree, by the order of its rows' numbers, none of them equal."""
    X, L, y = problem(k)
    Z, c, rng = seen(X, L), L.shape[1], PCG(seed, tree)
    order = np.lexsort(Z.T[::-1])
    Z, y, w = Z[order], y[order], weights[order]
    copies = np.zeros(len(y))
    for _ in y:
        copies[rng.below(len(y))] += 1
    w, columns, said, thresholds = w * copies, list(range(Z.shape[1])), [], []

    def gain(rows):
        counts = np.bincount(y[rows], w[rows], c)
        return (counts**2).sum() / counts.sum()

    def search(rows):
        visits, best, at = int(math.sqrt(len(columns))), None, 0
        while at < visits or best is None:
            some = range(at, at + max(1, min(4, visits - at)))
            for i in some:
                k = i + rng.below(len(columns) - i)
                columns[i], columns[k] = columns[k], columns[i]
            at = some.stop
            for i in some:
                v = Z[rows, columns[i]]
                lo, hi = v.min(), v.max()
                if lo == hi:
                    continue
                t = float(lo) + rng.uniform() * (float(hi) - float(lo))
                t = np.float32(t) if float(np.float32(t)) <= t else np.nextafter(np.float32(t), lo)
                t = lo if t >= hi else t
                sides = rows[v <= t], rows[v > t]
                if best is None or gain(sides[0]) + gain(sides[1]) > best[0]:
                    best = gain(sides[0]) + gain(sides[1]), columns[i], t
                if all(len(set(y[side])) == 1 for side in sides):
                    return columns[i], t
        return best[1:]

    def grow(rows):
        if len(set(y[rows])) == 1:
            said.append(-1 - int(y[rows[0]]))
            return
        column, t = search(rows)
        said.append(column)
        thresholds.append(float(t))
        v = Z[rows, column]
        grow(rows[v <= t])
        grow(rows[v > t])

    grow(np.flatnonzero(copies))
    return {"problem": k, "seed": seed, "tree": tree, "weights": weights.tolist(), "columns": said, "thresholds": thresholds}


if __name__ == "__main__":
    sys.setrecursionlimit(10000)
    replays = []
    for k, tree in ((0, 0), (4, 3), (7, 250)):
        n = len(problem(k)[2])
        replays.append(grown(k, 11 + k, tree, np.ones(n) if k == 0 else 1 + np.arange(n) % 4 / 4))  # binary fractions: sums are exact
    with ProcessPoolExecutor() as pool:
        laws = list(pool.map(law, range(20)))
    json.dump({"versions": {m.__name__: m.__version__ for m in (np, scipy, sklearn)}, "voting": voting(), "replays": replays, "laws": laws}, sys.stdout)
