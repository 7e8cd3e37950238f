"""The EM of Saerens, Latinne & Decaestecker (2002) and Bayes' rule, by numpy alone, beside apply --new-priors.

    python labelshift.py CAL.npz PLAIN.npz ESTIMATED.npz GIVEN.npz PRIORS.csv

PLAIN, ESTIMATED and GIVEN are what apply says of the same rows without --new-priors, with estimate and with PRIORS.csv, which names classes
by their numbers; CAL is what it says of the calibration rows without it. Prints a line of JSON: the largest difference of a prior, and of
a probability of either.
"""
import csv
import json
import sys

import numpy as np

cal, plain, estimated, given = (np.load(path) for path in sys.argv[1:5])
kish = lambda w: w.sum() ** 2 / (w**2).sum()
classes, rows = plain["probs"].shape[1], kish(cal["weights"])
old = cal["weights"] @ cal["probs"] / cal["weights"].sum() + 1 / (rows * classes)  # the mean prediction, and one row of all classes
old /= old.sum()


def reweighed(new):
    p = plain["probs"] * (new / old)  # eq. 2.4
    return p / p.sum(1, keepdims=True)


new, weights = old, plain["weights"]
effective, kappa = kish(weights), 4 * classes  # the rows that the Dirichlet prior is worth
weights = weights / weights.sum() * effective * rows / (rows + effective)
for _ in range(1_000_000):
    last, new = new, (weights @ reweighed(new) + kappa * old) / (weights.sum() + kappa)  # eq. 2.9, with the prior
    if abs(new - last).max() < 1e-13:
        break
known = {int(row["class"]): float(row["prior"]) for row in csv.DictReader(open(sys.argv[5]))}
known = np.array([known[k] for k in range(len(old))])
print(json.dumps({
    "priors": abs(estimated["new_priors"] - new).max(),
    "estimated": abs(estimated["probs"] - reweighed(new)).max(),
    "given": abs(given["probs"] - reweighed(known)).max(),
}))
