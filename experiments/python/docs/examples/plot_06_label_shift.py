"""
Classes of another frequency
============================

After the fit, small digits come more often. ``calibra apply --new-priors estimate`` finds how often, without labels.
"""
import pathlib
import tempfile

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import localcal

X, y = load_digits(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, train_size=500, random_state=0)
X_cal, X_new, y_cal, y_new = train_test_split(X_rest, y_rest, train_size=600, random_state=0)
few = (y_new < 5) | (np.arange(len(y_new)) % 6 == 0)
X_new, y_new = X_new[few], y_new[few]
classifier = LogisticRegression(max_iter=1000).fit(X_train, y_train)
calibrator = localcal.Calibrator("ts").fit(classifier.decision_function(X_cal), y_cal)

with tempfile.TemporaryDirectory() as folder:
    rows, run, out = (pathlib.Path(folder, name) for name in ("rows.npz", "run", "out.npz"))
    calibrator.save(run)
    np.savez(rows, test_logits=classifier.decision_function(X_new))
    localcal.run("apply", "--model", run, "--in", rows, "--new-priors", "estimate", "--out", out)
    found = dict(np.load(out))

low, prior, high = (found[name] for name in ("new_priors_lower", "new_priors", "new_priors_upper"))
plt.bar(range(10), np.bincount(y_new, minlength=10) / len(y_new), color="lightgrey", label="labels")
plt.errorbar(range(10), prior, [prior - low, high - prior], fmt="o", capsize=4, label="estimated without labels")
plt.xticks(range(10))
plt.xlabel("digit")
plt.ylabel("share of the new rows")
plt.legend()
plt.show()
