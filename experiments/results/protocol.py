"""The cells, the tests and the power of benchmark-protocol.md.

    go build -o calibra ./experiments/cmd/calibra
    PEER_DEC=../Divide-et-Calibra python experiments/results/protocol.py cells --calibra ./calibra --data ../shared/data/unseen --cells experiments/results/protocol.csv
    python experiments/results/protocol.py tests --cells experiments/results/protocol.csv --out experiments/results/protocol-tests.csv
    python experiments/results/protocol.py power --cells experiments/results/protocol-old.csv --out experiments/results/protocol-power.csv

`cells` appends a line to the csv as each cell ends, and skips those that are there: the same command goes on after an interruption, on
another machine too if the csv was committed. --minutes ends it after the cell in which they pass. `tests` refuses while a cell is missing,
unless --seeds names those that are complete.
"""
import argparse
import csv
import itertools
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # threads that wait for each other count as work
    os.environ.setdefault(name, "1")

import numpy as np

import peers
from peers import PEERS

# A source has views: how its rows become features and log-probabilities, and the file.
UNSEEN = {
    "adult": [("mlp", "adult.csv.gz")], "diamonds": [("mlp", "diamonds.csv.gz")], "storms": [("mlp", "storms.csv.gz")],
    "reviews": [("mlp", "reviews.csv.gz"), ("head", "sentences.npz")], "austen": [("mlp", "austen.csv.gz")],
    "rotterdam": [("mlp", "rotterdam.csv.gz")], "leaves": [("mlp", "leaves.csv.gz")],
    "mnist": [("mlp", "mnist.csv.gz"), ("resnet", "mnist.csv.gz")], "languages": [("given", "languages.npz")],
}
OLD = {name: [("mlp", name + ".csv.gz")] for name in ("splice", "coil2000", "fars", "hpc", "kr-vs-k", "nursery", "skillcraft", "winequality-white", "yeast")}

OURS = {  # method: what fit is told; mixture is in the program up to 97fa7ce2
    "nc": ["nc"], "ts": ["ts"], "sm": ["sm"], "mixture": ["mixture"], "corrected": ["corrected"], "corrected x 5": ["corrected", "--set", "ensemble.members=5"],
    "forest": ["forest"], "pool": ["pool"], "vq": ["vq", "--split", "paper"], "vq x 5": ["vq", "--split", "paper", "--set", "ensemble.members=5"],
}
FEW = ["nc", "ts", "mixture", "corrected", "forest", "pool"]  # where rows are few or a class is
ROWS = [200, 500, 1000, 5000]
FLOOR = 1e-12  # of a probability, as in calibra evaluate
LEAST = 1e-3  # of an NLL in a log-ratio: what lies below it is as good as none

FIELDS = ["part", "rows", "seed", "source", "view", "method", "n", "tested", "features", "classes", "nll", "nll_fresh", "fresh", "nll_rare", "accuracy", "brier", "seconds", "error"]
KEY = ["part", "rows", "seed", "source", "view", "method"]


def log_softmax(scores):
    scores = scores - scores.max(1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(1, keepdims=True))


def drawn(y, fractions, rng):
    """Rows of each part, every class divided alike."""
    parts = [[] for _ in fractions]
    for k in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == k))
        cuts = np.round(np.cumsum(fractions)[:-1] * len(rows)).astype(int)
        for part, some in zip(parts, np.split(rows, cuts)):
            part.extend(some)
    return [np.sort(np.array(part, dtype=int)) for part in parts]


def run(calibra, *words):
    return subprocess.run([str(calibra), *map(str, words), "--quiet"], check=True, capture_output=True, text=True)


def resnet(calibra, path, seed, work, name):
    """Square images in the columns of a csv through a network of their own: 30 % calibrate, 30 % test."""
    import pandas as pd

    table = pd.read_csv(path)
    pixels, y = table.iloc[:, :-1].to_numpy(np.uint8), table.iloc[:, -1].astype("category").cat.codes.to_numpy()
    side = int(round(pixels.shape[1] ** 0.5))
    parts = dict(zip(("train", "val", "test"), drawn(y, [0.6, 0.1, 0.3], np.random.default_rng(seed))))
    images = {f"{part}_images": pixels[rows].reshape(-1, side, side) for part, rows in parts.items()}
    labels = {f"{part}_labels": y[rows].reshape(-1, 1).astype(np.uint8) for part, rows in parts.items()}
    np.savez(work / "images.npz", **images, **labels)
    run(calibra, "pretrain", "--data", work / "images.npz", "--encoder", "resnet", "--seed", seed, "--out", work / "network")
    run(calibra, "encode", "--model", work / "network", "--data", work / "images.npz", "--out", name)


def head(path, seed, name):
    """Embeddings with a logistic regression on 40 % of their rows, as one trains a head: 30 % calibrate, 30 % test."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    z = np.load(path)
    x, y = z["features"].astype(float), z["labels"].astype(int)
    train, cal, test = drawn(y, [0.4, 0.3, 0.3], np.random.default_rng(seed))
    scale = StandardScaler().fit(x[train])
    model = LogisticRegression(max_iter=2000).fit(scale.transform(x[train]), y[train])
    scores = model.decision_function(scale.transform(x))
    parts(name, x, scores if scores.ndim == 2 else np.column_stack([-scores / 2, scores / 2]), y, cal, test)


def given(path, seed, name):
    """Outputs that a network gave: half of the rows calibrate, half test."""
    z = np.load(path)
    cal, test = drawn(z["labels"].astype(int), [0.5, 0.5], np.random.default_rng(seed))
    parts(name, z["features"].astype(float), z["logits"].astype(float), z["labels"].astype(int), cal, test)


def parts(name, x, scores, y, cal, test):
    np.savez(name, cal_features=x[cal], cal_logits=scores[cal], cal_labels=y[cal], test_features=x[test], test_logits=scores[test], test_labels=y[test])


def prepare(o, how, file, seed, work):
    """Calibration and test rows: (features, log-probabilities, labels) each."""
    name, path = work / "encoded.npz", Path(o.data) / file
    if how == "mlp":
        run(o.calibra, "encode", "--data", path, "--encoder", "mlp", "--seed", seed, "--out", name)
    elif how == "resnet":
        resnet(o.calibra, path, seed, work, name)
    else:
        {"head": head, "given": given}[how](path, seed, name)
    z = np.load(name)
    return [(np.asarray(z[p + "_features"], float), log_softmax(np.asarray(z[p + "_logits"], float)), z[p + "_labels"].astype(int)) for p in ("cal", "test")]


def reduced(cal, part, rows, seed):
    """The calibration rows of a condition, None where there are too few, and the class that was made rare."""
    if part == "rows":
        if rows >= len(cal[2]):
            return None, None
        keep = drawn(cal[2], [rows / len(cal[2]), 1 - rows / len(cal[2])], np.random.default_rng(seed))[0]
        return tuple(a[keep] for a in cal), None
    if part == "rare":
        counts = np.bincount(cal[2], minlength=cal[1].shape[1])
        rare = int(np.argmin(np.where(counts > 3, counts, counts.max() + 1)))
        few = np.random.default_rng(seed).permutation(np.flatnonzero(cal[2] == rare))[3:]
        return tuple(np.delete(a, few, 0) for a in cal), rare
    return cal, None


def seconds():
    """Processor time of this process and of those that it started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def predicted(o, method, cal, test, seed, work):
    if method in PEERS:
        return PEERS[method](cal, test, cal[1].shape[1], seed)
    name, *flags = OURS[method]
    if "--split" not in flags:
        flags += ["--split", "none"]
    np.savez(work / "rows.npz", cal_features=cal[0], cal_logits=cal[1], cal_labels=cal[2], test_features=test[0], test_logits=test[1])
    run(o.calibra, "fit", "--in", work / "rows.npz", "--method", name, "--seed", seed, "--out", work / "fit", *flags)
    return np.load(work / "fit" / "predictions.npz")["probs"]


def judged(p, cal, test, rare):
    """What a cell's line holds of the probabilities of the test rows."""
    y, each = test[2], np.arange(len(test[2]))
    if not (p.shape == test[1].shape and np.isfinite(p).all() and np.abs(p.sum(1) - 1).max() < 1e-3):
        raise ValueError("these are no probabilities of the test rows")
    losses = -np.log(np.maximum(p[each, y], FLOOR))
    seen = {row.tobytes() for row in np.hstack(cal[:2])}
    fresh = np.array([row.tobytes() not in seen for row in np.hstack(test[:2])])
    brier = ((p - np.eye(p.shape[1])[y]) ** 2).sum(1)
    mean = lambda values: repr(float(values.mean())) if len(values) else ""
    return {"nll": mean(losses), "nll_fresh": mean(losses[fresh]), "fresh": int(fresh.sum()), "nll_rare": mean(losses[y == rare]) if rare is not None else "",
            "accuracy": mean(p.argmax(1) == y), "brier": mean(brier)}


def plan(o):
    """The cells in their order: whole seeds of the main part, then of the others."""
    sources = OLD if o.old else UNSEEN
    views = [(source, how, file) for source, all_views in sources.items() for how, file in all_views]
    for part, seeds in (("main", o.seeds), ("rows", o.seeds[:3]), ("rare", o.seeds[:3])):
        if part not in o.parts:
            continue
        methods = [m for m in ([*OURS, *PEERS] if part == "main" else FEW) if o.methods is None or m in o.methods]
        for seed, (source, how, file), rows in itertools.product(seeds, views, ROWS if part == "rows" else [0]):
            if o.sources is None or source in o.sources:
                yield part, rows, seed, source, how, file, methods


def cells(o):
    path, done = Path(o.cells), set()
    if missing := peers.absent([m for m in PEERS if "main" in o.parts and (o.methods is None or m in o.methods)]):
        sys.exit("\n".join(missing))
    if path.exists():
        with open(path, newline="") as f:
            done = {tuple(line[k] for k in KEY) for line in csv.DictReader(f)}
    else:
        path.write_text(",".join(FIELDS) + "\n")
    until, held = time.time() + 60 * o.minutes, None
    with tempfile.TemporaryDirectory() as work, open(path, "a", newline="") as f:
        work, out = Path(work), csv.DictWriter(f, FIELDS, lineterminator="\n")
        for part, rows, seed, source, how, file, methods in plan(o):
            for method in methods:
                key = dict(zip(KEY, (part, str(rows), str(seed), source, how, method)))
                if tuple(key.values()) in done:
                    continue
                if time.time() > until:
                    return
                try:
                    if held is None or held[0] != (seed, how, file):
                        held = (seed, how, file), prepare(o, how, file, seed, work)
                    (all_rows, test), line = held[1], dict(key)
                    cal, rare = reduced(all_rows, part, rows, seed)
                    if cal is None:
                        line["error"] = "too few rows"
                    else:
                        line |= {"n": len(cal[2]), "tested": len(test[2]), "features": cal[0].shape[1], "classes": cal[1].shape[1]}
                        start = seconds()
                        line |= judged(predicted(o, method, cal, test, seed, work), cal, test, rare)
                        line["seconds"] = round(seconds() - start, 2)
                except Exception as failed:  # a cell that fails has no value
                    line = key | {"error": " ".join(str(getattr(failed, "stderr", None) or failed).split())[:200]}
                out.writerow(line)
                f.flush()
                print(*key.values(), line.get("error") or f"{line['seconds']} s", flush=True)


# The tests.

PRIMARY = ("pool", "mixture")
SECONDARY = [("pool", "corrected x 5"), ("pool", "best"), ("vq x 5", "vq"), *(("pool", peer) for peer in PEERS)]
MARGIN = {("pool", "best"): np.log(1.01)}  # of equivalence


def read(path, part="main", rows="0", column="nll"):
    """{source: {method: {(view, seed): NLL}}}"""
    found = {}
    with open(path, newline="") as f:
        for line in csv.DictReader(f):
            if line["part"] == part and line["rows"] == rows and line[column]:
                found.setdefault(line["source"], {}).setdefault(line["method"], {})[line["view"], int(line["seed"])] = max(float(line[column]), LEAST)
    return found


def ratios(found, first, second):
    """By source, the mean over views and seeds of log(NLL of the first / NLL of the second). best is the method with the lowest mean log NLL."""
    out = {}
    for source, methods in found.items():
        a = methods.get(first, {})
        others = [m for m in methods if m != first] if second == "best" else [second] if second in methods else []
        means = []
        for other in others:
            both = sorted(a.keys() & methods[other].keys())
            views = {v for v, _ in both}
            if both:  # each view counts alike
                means.append(np.mean([np.mean([np.log(a[k] / methods[other][k]) for k in both if k[0] == v]) for v in views]))
        if means:
            out[source] = max(means)
    return out


def sign_flip(values, sided=2):
    """The exact p of the mean; one-sided: that it lies below 0."""
    values = np.asarray(values)
    signs = np.array(list(itertools.product((-1, 1), repeat=len(values))))
    means, mean = signs @ values / len(values), values.mean()
    near = 1e-12 * np.abs(values).mean()
    return float((np.abs(means) >= abs(mean) - near).mean() if sided == 2 else (means <= mean + near).mean())


def holm(ps):
    order, out, most = np.argsort(ps), np.empty(len(ps)), 0.0
    for rank, k in enumerate(order):
        most = out[k] = max(most, min(1.0, (len(ps) - rank) * ps[k]))
    return out


def compared(found, first, second, margin=0.0):
    r = np.array(list(ratios(found, first, second).values()))
    if not len(r):
        return None
    p = sign_flip(r - margin, 1) if margin else sign_flip(r)
    return {"first": first, "second": second, "sources": len(r), "lower_on": int((r < 0).sum()), "log_ratio": r.mean(), "median": np.median(r), "p": p}


def above(found, first, second):
    """By source whether the first is above the second: Student's one-sided test over the seeds, Holm's correction over the sources."""
    from scipy.stats import ttest_1samp

    lines = []
    for source, methods in found.items():
        a, b, by_seed = methods.get(first, {}), methods.get(second, {}), {}
        for view, seed in sorted(a.keys() & b.keys()):
            by_seed.setdefault(seed, []).append(np.log(a[view, seed] / b[view, seed]))
        r = np.array([np.mean(v) for v in by_seed.values()])
        if len(r) > 1:
            lines.append({"first": first, "second": f"{second} on {source}", "sources": 1, "lower_on": int(r.mean() < 0), "log_ratio": r.mean(), "median": np.median(r),
                          "p": float(ttest_1samp(r, 0, alternative="greater").pvalue)})
    for line, p in zip(lines, holm([line["p"] for line in lines])):
        line["p_holm"] = float(p)
    return lines


def write(path, lines):
    with open(path, "w", newline="") as f:
        out = csv.DictWriter(f, lines[0].keys(), lineterminator="\n")
        out.writeheader()
        for line in lines:
            out.writerow({k: repr(float(v)) if isinstance(v, float) else v for k, v in line.items()})


def tests(o):
    with open(o.cells, newline="") as f:
        there = {tuple(line[k] for k in KEY) for line in csv.DictReader(f)}
    missing = [c for part, rows, seed, source, how, _, methods in plan(o) for m in methods if (c := (part, str(rows), str(seed), source, how, m)) not in there]
    if missing:
        sys.exit(f"{len(missing)} cells are missing, the first is {' '.join(missing[0])}; nothing is looked at before all are there")
    keep = lambda found: {s: {m: {k: v for k, v in at.items() if k[1] in o.seeds} for m, at in of.items()} for s, of in found.items()}
    lines = []
    for column in ("nll", "nll_fresh"):
        found = keep(read(o.cells, column=column))
        primary = compared(found, *PRIMARY)
        others = [c for pair in SECONDARY if (c := compared(found, *pair, MARGIN.get(pair, 0.0)))]
        for line, p in [(primary, primary["p"]), *zip(others, holm([c["p"] for c in others]))]:
            lines.append({"rows": "all" if column == "nll" else "fresh", "test": "primary" if line is primary else "secondary"} | line | {"p_holm": float(p)})
        for first, second in itertools.product(("pool", "corrected", "corrected x 5", "forest", "mixture"), ("nc", "ts", "corrected", "mixture")):
            if first != second and (first, second) != PRIMARY and (line := compared(found, first, second)):
                lines.append({"rows": lines[-1]["rows"], "test": "observation"} | line | {"p_holm": ""})
        lines += [{"rows": lines[-1]["rows"], "test": "never worse"} | line for first in ("pool", "corrected x 5", "mixture") for line in above(found, first, "nc")]
    for part, rows in [*(("rows", str(n)) for n in ROWS), ("rare", "0")]:
        for column in ("nll", "nll_rare") if part == "rare" else ("nll",):
            found = keep(read(o.cells, part, rows, column))
            for second in ("nc", "ts", "mixture", "corrected", "forest"):
                if line := compared(found, "pool", second):
                    told = f"{rows} rows" if part == "rows" else "a class of three" + (", its rows" if column == "nll_rare" else "")
                    lines.append({"rows": told, "test": "observation"} | line | {"p_holm": ""})
    write(o.out, lines)


def power(o):
    """Of each test, as many sources as will be tested drawn with replacement from those that have all methods, 2,000 times: how often it holds."""
    found, rng, lines = read(o.cells), np.random.default_rng(5), []
    found = {source: methods for source, methods in found.items() if {*OURS, *PEERS} <= methods.keys()}
    by_pair = {pair: np.array(list(ratios(found, *pair).values())) for pair in [PRIMARY, *SECONDARY]}
    holds = {pair: 0 for pair in by_pair}
    for _ in range(2000):
        at = rng.integers(0, len(found), len(UNSEEN))
        p = {pair: sign_flip(r[at] - MARGIN[pair], 1) if pair in MARGIN else sign_flip(r[at]) for pair, r in by_pair.items()}
        others = [pair for pair in p if pair != PRIMARY]
        corrected = dict(zip(others, holm([p[pair] for pair in others]))) | {PRIMARY: p[PRIMARY]}
        for pair, r in by_pair.items():
            holds[pair] += corrected[pair] < 0.05 and r[at].mean() < MARGIN.get(pair, 0.0) and (pair != PRIMARY or np.median(r[at]) < 0)
    for pair, r in by_pair.items():
        lines.append({"test": " against ".join(pair), "sources": len(r), "lower_on": int((r < 0).sum()),
                      "log_ratio": float(r.mean()), "median": float(np.median(r)), "power": holds[pair] / 2000})
    write(o.out, lines)


def numbers(text):
    return [n for part in text.split(",") for n in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("do", choices=["cells", "tests", "power"])
    ap.add_argument("--calibra", default="./calibra", help="the program")
    ap.add_argument("--data", default="../shared/data/unseen", help="the directory of the sources")
    ap.add_argument("--cells", required=True, help="the csv of the cells")
    ap.add_argument("--out", help="the csv of the tests or of the power")
    ap.add_argument("--seeds", type=numbers, default=numbers("1001-1010"))
    ap.add_argument("--parts", type=lambda t: t.split(","), default=["main", "rows", "rare"])
    ap.add_argument("--minutes", type=float, default=float("inf"), help="begin no cell after so many")
    ap.add_argument("--old", action="store_true", help="the nine sources of the protocol before: for a trial, and for the power")
    ap.add_argument("--sources", type=lambda t: t.split(","))
    ap.add_argument("--methods", type=lambda t: t.split(","))
    o = ap.parse_args()
    {"cells": cells, "tests": tests, "power": power}[o.do](o)


if __name__ == "__main__":
    main()
