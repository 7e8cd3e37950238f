"""Does a gate for each row, by the support of its codewords, lower the NLL?  Fixed before its first cell.

    go build -o calibra ./experiments/cmd/calibra
    python experiments/results/gate.py cells --calibra ./calibra --data ../shared/data --cells experiments/results/gate.csv
    python experiments/results/gate.py tests --cells experiments/results/gate.csv >experiments/results/gate-tests.csv

The posterior lies between the global one q, temperature scaling, and the local one p, on the scale of logarithms:

    log r = log q + g (log p − log q) − log Z

    local     g = 1
    constant  g = σ(b), one number for all rows
    gated     g = σ(b + β₁ s₁ + β₂ s₂), s₁ the mean of log(n_k / Σ n) over the row's codewords, n_k the slots of the fit rows with
              codeword k; s₂ the logarithm of the mean squared distance to them; both standardized on the calibration rows

b and β minimize the mean NLL of calibration rows that p, q, codewords and counts have not seen (folds), plus (β₁² + β₂²)/2n.

Sources: nine tables and four synthetic problems. vq: at most 2,000 calibration rows, five folds, seeds 1 to 3. pool: at most 1,000,
three folds, seed 1, s of the codewords of vq on the same rows. At most 3,000 test rows; all are drawn by class. The source is the unit.
gated gains if, for vq or for pool, the mean over the sources of log NLL(gated)/NLL(constant) and of log NLL(gated)/NLL(local) are both
below −.005, with a median below 0 and p < .05 by the exact sign-flip test. An NLL below .001 counts as .001. A cell that is missing
when the time ends is named.
"""
import argparse
import csv
import itertools
import json
import os
import struct
import subprocess
import tempfile
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_softmax

TABLES = ["splice", "coil2000", "fars", "hpc", "kr-vs-k", "nursery", "skillcraft", "winequality-white", "yeast"]
SYNTHETIC = ["cubic", "proximity", "rare", "calibrated"]
PLAN = {"vq": (2000, 5, [1, 2, 3]), "pool": (1000, 3, [1])}  # calibration rows, folds, seeds
TEST_ROWS, LEAST = 3000, 1e-3
FIELDS = ["method", "seed", "source", "n", "tested", "classes", "nc", "ts", "local", "constant", "gated", "g", "b", "beta_mass", "beta_distance"]


def drawn(y, most, rng):
    """At most so many rows, every class alike."""
    if len(y) <= most:
        return np.arange(len(y))
    rows = [rng.permutation(np.flatnonzero(y == k)) for k in np.unique(y)]
    return np.sort(np.concatenate([r[: max(1, round(len(r) * most / len(y)))] for r in rows]))


def folded(y, folds, rng):
    """The fold of each row, every class alike."""
    fold = np.empty(len(y), int)
    order = np.concatenate([rng.permutation(np.flatnonzero(y == k)) for k in np.unique(y)])
    fold[order] = np.arange(len(y)) % folds
    return fold


def run(calibra, *words):
    subprocess.run([str(calibra), *map(str, words), "--quiet"], check=True, capture_output=True, text=True)


def fitted(o, method, seed, cal, test, work):
    """The log-probabilities of the test rows, and the weights of the model."""
    (x, l, y), (tx, tl, _) = cal, test
    np.savez(work / "rows.npz", cal_features=x, cal_logits=l, cal_labels=y, test_features=tx, test_logits=tl)
    split = "paper" if method == "vq" else "none"
    run(o.calibra, "fit", "--in", work / "rows.npz", "--method", method, "--split", split, "--seed", seed, "--out", work / "fit")
    p = np.load(work / "fit" / "predictions.npz")["probs"]
    return np.log(np.maximum(p, 1e-12)), work / "fit" / "model.safetensors"


def weights(path):
    blob = path.read_bytes()
    n = struct.unpack("<Q", blob[:8])[0]
    types = {"F32": np.float32, "F64": np.float64}
    return {name: np.frombuffer(blob[8 + n + v["data_offsets"][0] : 8 + n + v["data_offsets"][1]], types[v["dtype"]]).reshape(v["shape"]).astype(float)
            for name, v in json.loads(blob[8 : 8 + n]).items() if name != "__metadata__" and v["dtype"] in types}


def support(path, fit, x):
    """s₁ and s₂ of the rows x, by the codewords of vq and the rows of its fit."""
    w = weights(path)
    words, centre = w["codebook/codewords"], w["codebook/centre"]

    def codes(rows):
        slots = (rows - centre).reshape(len(rows), -1, words.shape[1])
        squared = (slots**2).sum(2)[:, :, None] - 2 * slots @ words.T + (words**2).sum(1)
        return squared.argmin(2), np.maximum(squared.min(2), 0).mean(1)

    counts = np.bincount(codes(fit)[0].ravel(), minlength=len(words)) + 1
    s, d = codes(x)
    return np.column_stack([np.log(counts / counts.sum())[s].mean(1), np.log(d + 1e-12)])


def temperature(l, y, x):
    """Temperature scaling fitted to l, y: log-probabilities of x."""
    loss = lambda t: -log_softmax(np.exp(t[0]) * l, axis=1)[np.arange(len(y)), y].mean()
    return log_softmax(np.exp(minimize(loss, [0.0]).x[0]) * x, axis=1)


def between(q, p, g):
    return log_softmax(q + g[:, None] * (p - q), axis=1)


def nll(p, y):
    return -np.maximum(p, np.log(1e-12))[np.arange(len(y)), y].mean()


def gate(q, p, y, s):
    """b and β on rows with inputs s, and the loss; s with no columns is the constant."""
    n = len(y)
    loss = lambda t: nll(between(q, p, expit(t[0] + s @ t[1:])), y) + (t[1:] ** 2).sum() / (2 * n)
    return minimize(loss, np.zeros(1 + s.shape[1]), method="BFGS").x


def cell(o, method, seed, source, work):
    most, folds, _ = PLAN[method]
    data = source if source in SYNTHETIC else Path(o.data) / (source + ".csv.gz")
    run(o.calibra, "encode", "--data", data, *([] if source in SYNTHETIC else ["--encoder", "mlp"]), "--seed", seed, "--out", work / "encoded.npz")
    z, rng = np.load(work / "encoded.npz"), np.random.default_rng(seed)
    sets = []
    for part, rows in (("cal", most), ("test", TEST_ROWS)):
        y = z[part + "_labels"].astype(int)
        keep = drawn(y, rows, rng)
        sets.append((np.asarray(z[part + "_features"], float)[keep], log_softmax(np.asarray(z[part + "_logits"], float)[keep], axis=1), y[keep]))
    cal, test = sets
    (x, l, y), (tx, tl, ty) = cal, test
    fold = folded(y, folds, rng)
    p, q, s = np.empty_like(l), np.empty_like(l), np.empty((len(y), 2))

    def fit(rows, others):
        local, model = fitted(o, method, seed, rows, others, work)
        if method != "vq":
            _, model = fitted(o, "vq", seed, rows, others, work)
        return local, temperature(rows[1], rows[2], others[1]), support(model, rows[0], others[0])

    for k in range(folds):
        inside, out = fold != k, fold == k
        p[out], q[out], s[out] = fit(tuple(a[inside] for a in cal), tuple(a[out] for a in cal))
    tp, tq, ts = fit(cal, test)
    mean, sd = s.mean(0), s.std(0) + 1e-12
    s, ts = (s - mean) / sd, (ts - mean) / sd
    none = np.empty((len(y), 0))
    b, t = gate(q, p, y, none), gate(q, p, y, s)
    g = expit(t[0] + ts @ t[1:])
    return {"n": len(y), "tested": len(ty), "classes": l.shape[1], "nc": nll(tl, ty), "ts": nll(tq, ty), "local": nll(tp, ty),
            "constant": nll(between(tq, tp, np.full(len(ty), expit(b[0]))), ty), "gated": nll(between(tq, tp, g), ty),
            "g": expit(b[0]), "b": t[0], "beta_mass": t[1], "beta_distance": t[2]}


def cells(o):
    path, done = Path(o.cells), set()
    if path.exists():
        done = {(l["method"], l["seed"], l["source"]) for l in csv.DictReader(path.open(newline=""))}
    else:
        path.write_text(",".join(FIELDS) + "\n")
    with tempfile.TemporaryDirectory() as work, path.open("a", newline="") as f:
        out = csv.DictWriter(f, FIELDS, lineterminator="\n")
        for method, (_, _, seeds) in PLAN.items():
            for seed, source in itertools.product(seeds, SYNTHETIC + TABLES):
                if (method, str(seed), source) not in done:
                    line = cell(o, method, seed, source, Path(work))
                    out.writerow({"method": method, "seed": seed, "source": source} | {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in line.items()})
                    f.flush()
                    print(method, seed, source, line, flush=True)


def tests(o):
    lines = list(csv.DictReader(open(o.cells, newline="")))
    print("method,sources,of,to,mean,median,below,p")
    for method, (a, b) in itertools.product(PLAN, [("gated", "constant"), ("gated", "local"), ("constant", "local"), ("local", "ts")]):
        by = {}
        for l in lines:
            if l["method"] == method:
                by.setdefault(l["source"], []).append(np.log(max(float(l[a]), LEAST) / max(float(l[b]), LEAST)))
        d = np.array([np.mean(v) for v in by.values()])
        if len(d):
            means = np.array(list(itertools.product([1, -1], repeat=len(d)))) @ d / len(d)
            p = np.mean(np.abs(means) >= abs(d.mean()) - 1e-12)
            print(f"{method},{len(d)},{a},{b},{d.mean():.4f},{np.median(d):.4f},{(d < 0).sum()},{p:.4f}")


parser = argparse.ArgumentParser()
parser.add_argument("what", choices=["cells", "tests"])
parser.add_argument("--calibra")
parser.add_argument("--data")
parser.add_argument("--cells", required=True)
o = parser.parse_args()
{"cells": cells, "tests": tests}[o.what](o)
