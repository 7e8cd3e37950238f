"""Recomputes what a verdict of calibra compare says, with numpy and scipy, from predictions and labels alone.

    python verdict.py VERDICT.json FEATURES.npz METHOD SEED PREDICTIONS.npz ...

VERDICT.json is the object verdict of compare --json. Exits 1 with a line for each number that differs. The test: a row's difference
of two methods is the mean over seeds of the differences of its losses, with weights linearized about the mean, m + w (x - m)
for weights of mean 1; the variances of rows and of seeds add up, with Satterthwaite's degrees of freedom; Student's t; Holm over
all methods compared with nc.
"""
import collections
import json
import sys

import numpy as np
from scipy import stats

# The command keeps the losses of rows in single precision: a mean of N of them is 6e-8 of its size off at most, and p of a t of 10 a
# tenth of a thousandth of its own.
NEAR, NEAR_P = 1e-6, 1e-4
LEAST = 1e-12  # the floor of the probability of a label, as calibra documents it

verdict = json.load(open(sys.argv[1], encoding="utf-8"))
rows = np.load(sys.argv[2])
labels = rows["test_labels"]
weights = rows["test_weights"] if "test_weights" in rows else np.ones(len(labels))
counts = weights > 0
w = weights[counts] / weights[counts].mean()

losses = collections.defaultdict(dict)  # by method and seed, of the rows that count
for method, seed, path in zip(sys.argv[3::3], sys.argv[4::3], sys.argv[5::3]):
    p = np.load(path)["probs"]
    losses[method][seed] = -np.log(np.maximum(p[np.arange(len(labels)), labels], LEAST))[counts]


seeds_share = {}


def compared(method):
    seeds = sorted(losses[method])
    d = np.array([losses[method][s] - losses["nc"][s] for s in seeds])
    each = (d * w).mean(axis=1)  # the difference of each seed
    value = each.mean()
    terms = d.mean(axis=0)
    terms = value + w * (terms - value)
    n, k = len(terms), len(seeds)
    of_rows = terms.var(ddof=1) / n
    of_seeds = each.var(ddof=1) / k if k > 1 else 0
    variance = of_rows + of_seeds
    df = variance**2 / (of_rows**2 / (n - 1) + (of_seeds**2 / (k - 1) if k > 1 else 0))
    t = stats.t(df)
    reach = t.ppf(0.975) * np.sqrt(variance)
    seeds_share[method] = of_seeds / variance
    return dict(value=value, low=value - reach, high=value + reach, p=2 * t.sf(abs(value) / np.sqrt(variance)))


def holm(p):
    """p by Holm's correction, by method."""
    least, out = 0, {}
    for k, method in enumerate(sorted(p, key=p.get)):
        least = out[method] = max(least, min(1, p[method] * (len(p) - k)))
    return out


wrong = []


def same(name, got, want, near=NEAR):
    if got is None or not abs(got - want) <= near:
        wrong.append(f"{name} is {got}, and numpy has {want}")


right = {method: compared(method) for method in losses if method != "nc"}
for method, p in holm({method: d["p"] for method, d in right.items()}).items():
    right[method]["p"] = p
nll = {method: np.mean([(x * w).mean() for x in of.values()]) for method, of in losses.items()}
for of in verdict["methods"]:
    same(of["method"] + " NLL", of["nll"], nll[of["method"]])
    for key, want in right.get(of["method"], {}).items():
        same(f"{of['method']} {key}", of["nll_to_classifier"][key], want, NEAR_P * want if key == "p" else NEAR)

# What is to be said, by the rule alone.
matters, worth = max(1e-3 * nll["nc"], 1e-4), max(0.02 * nll["nc"], 0.002)
sure = {m: d for m, d in right.items() if d["p"] < 0.05}
better = [m for m, d in sure.items() if d["value"] < -matters]
worse = [m for m, d in sure.items() if d["value"] > matters]
hopes = [m for m, d in right.items() if m not in sure and -d["low"] > worth and d["value"] < (d["high"] - d["low"]) / 4]
if better:
    say, of = "use", verdict["method"]
    if of not in better:
        wrong.append(f"{of} is not among those that lower the NLL, {better}")
elif len(worse) == len(right):
    say, of = "do not use", min(worse, key=nll.get)
elif hopes:
    say, of = "cannot tell yet", min(hopes, key=nll.get)
    d = right[of]
    z = stats.norm.ppf
    variance = ((d["high"] - d["low"]) / 2 / z(0.975)) ** 2
    enough = (max(-d["value"], worth) / (z(1 - 0.025 / len(right)) + z(0.8))) ** 2
    needed = None  # where what is from seed to seed is too much for any number of rows
    if seeds_share[of] * variance < enough:
        needed = verdict["test_rows"] * (1 - seeds_share[of]) * variance / (enough - seeds_share[of] * variance)
    if verdict["rows_needed"] is not None if needed is None else not needed <= verdict["rows_needed"] <= 1.11 * needed:  # rounded up
        wrong.append(f"rows needed are {verdict['rows_needed']}, and numpy has {needed}")
else:
    say, of = "leave it as it is", min((m for m in right if m not in worse), key=nll.get)
if verdict["say"] != say:
    wrong.append(f"it says {verdict['say']}, and numpy {say}")
for key, mine in (("difference", "value"), ("low", "low"), ("high", "high"), ("p", "p")):
    same(f"{of} {key}", verdict[key], right[of][mine], NEAR_P * right[of]["p"] if key == "p" else NEAR)
print("\n".join(wrong))
sys.exit(bool(wrong))
