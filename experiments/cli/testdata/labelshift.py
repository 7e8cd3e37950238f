"""The EM of Saerens, Latinne & Decaestecker (2002) and Bayes' rule, by numpy alone, beside apply --new-priors.

    python labelshift.py CAL.npz PLAIN.npz ESTIMATED.npz GIVEN.npz PRIORS.csv

PLAIN, ESTIMATED and GIVEN are what apply says of the same rows without --new-priors, with estimate and with PRIORS.csv, which names classes
by their numbers. Prints a line of JSON: the largest difference of a prior, and of a probability of either.
"""
import csv
import json
import sys

import numpy as np

cal, plain, estimated, given = (np.load(path) for path in sys.argv[1:5])
old = np.bincount(cal["cal_labels"], weights=cal["cal_weights"], minlength=plain["probs"].shape[1])
old /= old.sum()


def reweighed(new):
    p = plain["probs"] * (new / old)  # eq. 2.4
    return p / p.sum(1, keepdims=True)


new, weights = old, plain["weights"]
for _ in range(1_000_000):
    last, new = new, weights @ reweighed(new) / weights.sum()  # eq. 2.9
    if abs(new - last).max() < 1e-13:
        break
known = {int(row["class"]): float(row["prior"]) for row in csv.DictReader(open(sys.argv[5]))}
known = np.array([known[k] for k in range(len(old))])
print(json.dumps({
    "priors": abs(estimated["new_priors"] - new).max(),
    "estimated": abs(estimated["probs"] - reweighed(new)).max(),
    "given": abs(given["probs"] - reweighed(known)).max(),
}))
